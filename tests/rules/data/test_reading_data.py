"""Faults of rows and tables in scripts that are only read."""

import pytest

from reading import lines
from surefit.rules.data import (
    column_dropped_before_the_loss,
    column_is_no_list,
    column_not_taken_by_the_model,
    extra_axis_in_rows,
    index_has_gaps,
    key_not_there,
    length_beyond_the_data,
    no_labels_for_the_loss,
    none_in_a_sample,
    ragged_labels,
    ragged_rows,
    sample_is_none,
    text_column_in_batch,
)

WINDOWS = """class Windows(Dataset):
    def __init__(self, rows):
        self.rows = {rows}
        self.ahead = 2
    def __len__(self):
        return {length}
    def __getitem__(self, index):
        {line}
"""


@pytest.mark.parametrize(
    ("length", "line", "found"),
    [
        ("len(self.rows)", "return self.rows[index + 1]", [6]),
        ("len(self.rows)", "return self.rows[index + self.ahead]", [6]),
        ("len(self.rows) - 1", "return self.rows[index + 1]", []),
        ("len(self.rows)", "return self.rows[index]", []),
        ("len(self.rows)", "return self.rows[index : index + 1]", []),
        ("len(self.rows)", "return self.other[index + 1]", []),
        ("len(self.rows)", "index = index % 5\n        return self.rows[index + 1]", []),
        ("len(self.rows)", "if index:\n            return self.rows[index + 1]", []),
    ],
)
def test_rows_behind_the_end(length: str, line: str, found: list[int]) -> None:
    text = WINDOWS.format(rows="list(rows)[:99]", length=length, line=line)
    text = text.replace("list(rows)[:99]", "[row for row in rows]")
    assert lines(length_beyond_the_data.RULE, text) == found
    text = text.replace("[row for row in rows]", "{row.id: row for row in rows}")
    assert lines(length_beyond_the_data.RULE, text) == []


TABLE = """import pandas as pd
from sklearn.model_selection import train_test_split
class Rows(Dataset):
    def __init__(self, table):
        self.table = table
    def __len__(self):
        return len(self.table)
    def __getitem__(self, index):
        return {asked}
table = pd.read_csv("rows.csv")
{made}
rows = Rows(table)
"""


@pytest.mark.parametrize(
    ("made", "asked", "found"),
    [
        ("table = table[table.age > 3]", "self.table['age'][index]", [11]),
        ("table = table.dropna()", "self.table.loc[index]", [11]),
        ("table, other = train_test_split(table)", "self.table.age[index]", [11]),
        ("table = table[table.age > 3]", "self.table.iloc[index]", []),
        ("table = table[table.age > 3].reset_index(drop=True)", "self.table['age'][index]", []),
        ("table = table[['age', 'name']]", "self.table['age'][index]", []),
        ("table = table[table.age > 3]['age'].tolist()", "self.table[index]", []),
        ("table = table.sort_values('age')", "self.table['age'][index]", []),
        ("table = [row for row in table if row]", "self.table[index]", []),
        ("table = table.dropna()\ntable.reset_index(inplace=True)", "self.table.loc[index]", []),
    ],
)
def test_tables_with_gaps(made: str, asked: str, found: list[int]) -> None:
    assert lines(index_has_gaps.RULE, TABLE.format(made=made, asked=asked)) == found


COLUMNS = """from datasets import load_dataset
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
rows = load_dataset("imdb"{split})
{line}
"""


@pytest.mark.parametrize(
    ("split", "line", "found"),
    [
        (", split='train'", "tokenizer(rows['text'])", [5]),
        ("", "tokenizer(rows['train']['text'])", [5]),
        (", split='train'", "x = rows['text'] + ['more']", [5]),
        (", split='train'", "tokenizer(list(rows['text']))", []),
        (", split='train'", "tokenizer(rows['text'][:])", []),
        (", split='train'", "tokenizer(rows[0]['text'])", []),
        (", split='train'", "rows.set_format('torch')\ntokenizer(rows['text'])", []),
        ("", "x = rows['train']", []),
    ],
)
def test_columns_in_place_of_lists(
    split: str, line: str, found: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_is_no_list, "version", lambda _: "4.0.0")
    text = COLUMNS.format(split=split, line=line)
    assert lines(column_is_no_list.RULE, text) == found
    monkeypatch.setattr(column_is_no_list, "version", lambda _: "3.6.0")
    assert lines(column_is_no_list.RULE, text) == []


REVIEWS = """from torch.utils.data import DataLoader, Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer
class Reviews(Dataset):
    def __init__(self, texts, tokenizer):
        self.texts, self.tokenizer = texts, tokenizer
    def __len__(self):
        return len(self.texts)
    def __getitem__(self, index):
        text = self.texts[index]
        encoded = self.tokenizer(text, padding="max_length"{more})
        return {{{columns}}}
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
model = AutoModelForSequenceClassification.from_pretrained("bert-base-uncased")
for batch in DataLoader(Reviews(texts, tokenizer), batch_size=8{collator}):
    batch = {moved}
    model(**batch)
"""
IDS = "'input_ids': encoded['input_ids']"
MOVED = "{key: value.to('cuda') for key, value in batch.items()}"
TENSORS = ", return_tensors='pt'"


@pytest.mark.parametrize(
    ("columns", "more", "collator", "axis", "text"),
    [
        (IDS, TENSORS, "", [10], []),
        (f"{IDS}[0]", TENSORS, "", [], []),
        (f"{IDS}.squeeze(0)", TENSORS, "", [], []),
        (IDS, "", "", [], []),
        (IDS, TENSORS, ", collate_fn=together", [], []),
        (f"{IDS}, 'text': text", "", "", [], [11]),
        (f"{IDS}, 'text': text", "", ", collate_fn=together", [], []),
        (f"{IDS}, 'kind': 'review'", "", "", [], [11]),
        (f"{IDS}, 'number': index", "", "", [], []),
    ],
)
def test_rows_of_tokenizers(
    columns: str, more: str, collator: str, axis: list[int], text: list[int]
) -> None:
    script = REVIEWS.format(columns=columns, more=more, collator=collator, moved=MOVED)
    assert lines(extra_axis_in_rows.RULE, script) == axis
    assert lines(text_column_in_batch.RULE, script) == text


def test_only_tensors_are_moved() -> None:
    chosen = MOVED.replace("}", " if hasattr(value, 'to')}")
    columns = f"{IDS}, 'text': text"
    script = REVIEWS.format(columns=columns, more="", collator="", moved=chosen)
    assert lines(text_column_in_batch.RULE, script) == []


def test_rows_that_are_none_can_be_left_out_before() -> None:
    text = """
        from torch.utils.data import DataLoader, Dataset
        class Rows(Dataset):
            def __init__(self, rows):
                self.rows = {rows}
            def __getitem__(self, index):
                if self.rows[index] is None:
                    return None
                return self.rows[index]
        loader = DataLoader(Rows(rows))
    """
    assert lines(sample_is_none.RULE, text.format(rows="rows")) == [8]
    assert lines(sample_is_none.RULE, text.format(rows="[r for r in rows if r is not None]")) == []


MAPPED = """from datasets import Dataset, load_dataset
from torch.utils.data import DataLoader
from transformers import (
    AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForLanguageModeling,
    DataCollatorWithPadding, Trainer, TrainingArguments,
)
tokenizer = AutoTokenizer.from_pretrained("t5-small")
def encode(row):
    {encode}
rows = {rows}
{line}
"""
TOKENS = "return tokenizer(row['text'], truncation=True)"
FROM = "Dataset.from_dict({'text': ['a b', 'c'], 'weight': [1, 2]})"
PADDED = "DataCollatorWithPadding(tokenizer)"
LOADER = f"DataLoader(rows, batch_size=2, collate_fn={PADDED})"


@pytest.mark.parametrize(
    ("encode", "rows", "line", "found"),
    [
        (TOKENS, f"{FROM}.map(encode)", LOADER, [10]),
        (TOKENS, "load_dataset('imdb')['train'].map(encode, batched=True)", LOADER, [10]),
        (TOKENS, f"{FROM}.map(encode).remove_columns(['text'])", LOADER, []),
        (TOKENS, f"{FROM}.map(encode, remove_columns=['text'])", LOADER, []),
        (TOKENS, f"{FROM}.map(encode).with_format('torch', columns=['input_ids'])", LOADER, []),
        (TOKENS, f"{FROM}.map(encode)", "DataLoader(rows, collate_fn=own)", []),
        ("return other(row['text'])", f"{FROM[:-1]}.map(encode)", LOADER, []),
        (
            TOKENS,
            f"{FROM}.map(encode)",
            f"Trainer(args=TrainingArguments('o', remove_unused_columns=False), "
            f"train_dataset=rows, data_collator={PADDED})",
            [10],
        ),
        (TOKENS, f"{FROM}.map(encode)", f"Trainer(train_dataset=rows, data_collator={PADDED})", []),
    ],
)
def test_texts_that_reach_a_collator(encode: str, rows: str, line: str, found: list[int]) -> None:
    text = MAPPED.format(encode=encode, rows=rows, line=line)
    assert lines(text_column_in_batch.RULE, text) == found


ALONE = f"{FROM}.map(encode, remove_columns=['text', 'weight'])"
CAUSAL = "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"
SEQ = "model = AutoModelForSeq2SeqLM.from_pretrained('t5-small')\n"
TRAIN = f"Trainer(model=model, train_dataset=rows, data_collator={PADDED})"
TARGETS = "return {'input_ids': [1], 'target_ids': [2]}"


@pytest.mark.parametrize(
    ("encode", "rows", "line", "no_labels", "not_taken"),
    [
        (TOKENS, ALONE, CAUSAL + TRAIN, [12], []),
        (TOKENS, "load_dataset('x')['train'].map(encode)", CAUSAL + TRAIN, [], []),
        (
            "row = tokenizer(row['text'])\n    row['labels'] = row['input_ids']\n    return row",
            ALONE,
            CAUSAL + TRAIN,
            [],
            [],
        ),
        (
            TOKENS,
            ALONE,
            CAUSAL + TRAIN.replace(PADDED, "DataCollatorForLanguageModeling(tokenizer, mlm=False)"),
            [],
            [],
        ),
        (TARGETS, ALONE, SEQ + TRAIN, [], [9]),
        (TARGETS.replace("target_ids", "labels"), ALONE, SEQ + TRAIN, [], []),
        (TARGETS, f"{FROM}.map(other)", SEQ + TRAIN, [], []),
        (TARGETS, ALONE, SEQ + TRAIN.replace(PADDED, "own"), [], []),
    ],
)
def test_columns_of_a_trainer(
    encode: str, rows: str, line: str, no_labels: list[int], not_taken: list[int]
) -> None:
    text = MAPPED.format(encode=encode, rows=rows, line=line)
    assert lines(no_labels_for_the_loss.RULE, text) == no_labels
    assert lines(column_not_taken_by_the_model.RULE, text) == not_taken


LISTS = """from transformers import DataCollatorForLanguageModeling
def encode(row):
    prompt = tokenizer(row["question"])["input_ids"]
    answer = tokenizer(row["answer"])["input_ids"]
    {line}
rows = rows.map(encode)
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
"""


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("return {'labels': [-100] * len(prompt) + answer}", [7]),
        ("labels = (prompt + answer)[:64]\n    return {'labels': labels}", [8]),
        ("return {'labels': row['label']}", []),
        ("return {'labels': (prompt + answer + [0] * (64 - len(answer)))[:64]}", []),
        ("return {'input_ids': prompt + answer}", []),
    ],
)
def test_labels_put_together_of_lists(line: str, found: list[int]) -> None:
    assert lines(ragged_labels.RULE, LISTS.format(line=line)) == found


BATCHES = """from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __len__(self):
        return 10
    def __getitem__(self, index):
        return {{"x": index, "label": {label}}}
for step, batch in enumerate(DataLoader(Rows(), batch_size=2{more})):
    {line}
"""


@pytest.mark.parametrize(
    ("label", "more", "line", "key", "none"),
    [
        ("1", "", "print(batch['labels'])", [8], []),
        ("1", "", "print(batch['label'], batch['x'])", [], []),
        ("1", "", "batch['labels'] = 1\n    print(batch['labels'])", [], []),
        ("1", "", "batch = more(batch)\n    print(batch['labels'])", [], []),
        ("1", ", collate_fn=own", "print(batch['labels'])", [], []),
        ("None", "", "print(batch['label'])", [], [6]),
        ("1 if index else None", "", "print(batch['label'])", [], []),
        ("None", ", collate_fn=own", "print(batch['label'])", [], []),
    ],
)
def test_keys_and_values_of_batches(
    label: str, more: str, line: str, key: list[int], none: list[int]
) -> None:
    text = BATCHES.format(label=label, more=more, line=line)
    assert lines(key_not_there.RULE, text) == key
    assert lines(none_in_a_sample.RULE, text) == none


WEIGHTED = """from torch import nn
from transformers import Trainer, TrainingArguments
class Net(nn.Module):
    def forward(self, x, labels=None{takes}):
        return x
class Weighted(Trainer):
    def compute_loss(self, model, inputs, **more):
        weight = inputs{asks}
        return model(**inputs)
arguments = TrainingArguments("out"{kept})
Weighted(model=Net(), args=arguments, train_dataset=rows{collator})
"""


@pytest.mark.parametrize(
    ("takes", "asks", "kept", "collator", "found"),
    [
        ("", ".pop('weight')", "", "", [10]),
        ("", "['weight']", "", "", [10]),
        ("", ".pop('weight', None)", "", "", []),
        ("", "['labels']", "", "", []),
        (", weight=None", "['weight']", "", "", []),
        (", **more", "['weight']", "", "", []),
        ("", "['weight']", ", remove_unused_columns=False", "", []),
        ("", "['weight']", "", ", data_collator=own", []),
    ],
)
def test_columns_that_a_loss_asks_for(
    takes: str, asks: str, kept: str, collator: str, found: list[int]
) -> None:
    text = WEIGHTED.format(takes=takes, asks=asks, kept=kept, collator=collator)
    assert lines(column_dropped_before_the_loss.RULE, text) == found


@pytest.mark.parametrize(
    ("encode", "rows", "line", "found"),
    [
        (TOKENS, ALONE, "DataLoader(rows, batch_size=8)", [11]),
        (TOKENS, ALONE, "Trainer(model=model, train_dataset=rows)", [11]),
        (TOKENS, ALONE, "DataLoader(rows)", []),
        (TOKENS, ALONE, LOADER, []),
        (TOKENS, ALONE, "Trainer(model=model, train_dataset=rows, processing_class=tok)", []),
        (TOKENS.replace("True", "True, padding='max_length'"), ALONE, "DataLoader(rows, 8)", []),
    ],
)
def test_rows_as_long_as_their_texts(encode: str, rows: str, line: str, found: list[int]) -> None:
    text = MAPPED.format(encode=encode, rows=rows, line=line)
    assert lines(ragged_rows.RULE, text) == found
