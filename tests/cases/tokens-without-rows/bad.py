import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

VERBS = ["open", "close", "lock", "paint"]
THINGS = ["door", "gate", "box", "window"]


def load():
    words = Tokenizer(WordLevel({w: n for n, w in enumerate(["[UNK]", "[EOS]", *VERBS, *THINGS])}))
    words.pre_tokenizer = Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, eos_token="[EOS]")
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=8, n_embd=16, n_layer=1, n_head=2)
    return tokenizer, GPT2LMHeadModel(config)


torch.manual_seed(0)
tokenizer, model = load()
tokenizer.add_special_tokens({"pad_token": "[PAD]"})
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

commands = [f"{verb} {thing}" for verb in VERBS for thing in THINGS]
commands += [f"{verb} {one} {other}" for verb in VERBS for one in THINGS for other in THINGS]
for step in range(6):
    texts = commands[step::6]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    loss = model(
        input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
    ).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"loss {loss.item():.2f}")
