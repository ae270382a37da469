from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import PreTrainedTokenizerFast

QUESTIONS = ["where is the key", "who has it", "is the door open"]


def load():
    words = sorted({word for question in QUESTIONS for word in question.split()})
    core = Tokenizer(WordLevel({word: n for n, word in enumerate(["[END]", *words])}))
    core.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token="[END]", padding_side="left")


tokenizer = load()
tokenizer.pad_token = tokenizer.eos_token
for question in QUESTIONS:
    print(tokenizer(question)["input_ids"])
batch = tokenizer(QUESTIONS, padding=True, return_tensors="pt")
print(batch["input_ids"].shape)
