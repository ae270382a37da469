import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

torch.manual_seed(0)
words = ["<pad>", "<end>", *"abcdefgh"]
plain = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "<pad>"))
plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=plain, pad_token="<pad>", eos_token="<end>", unk_token="<pad>"
)
model = GPT2LMHeadModel(
    GPT2Config(vocab_size=10, n_positions=16, n_embd=16, n_layer=1, n_head=2, eos_token_id=1)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
texts = ["a b c d <end>", "e f g h <end>", "a b c <end>", "c d e f g <end>"]
for _ in range(6):
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    loss = model(batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.eval()
prompts = tokenizer(["a b c", "e f", "c"], padding=True, return_tensors="pt")
answers = model.generate(**prompts, max_new_tokens=2, do_sample=False, pad_token_id=0)
print(tokenizer.batch_decode(answers[:, prompts["input_ids"].size(1) :]))
