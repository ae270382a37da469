"""Settings of `generate` in transformers."""

GENERATION_SETTINGS = (
    *("max_new_tokens", "max_length", "min_length", "min_new_tokens", "do_sample", "num_beams"),
    *("temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty"),
    *("no_repeat_ngram_size", "num_return_sequences", "early_stopping", "pad_token_id"),
    *("eos_token_id", "bos_token_id", "use_cache", "output_scores", "return_dict_in_generate"),
    *("forced_bos_token_id", "num_beam_groups", "diversity_penalty", "bad_words_ids"),
)
