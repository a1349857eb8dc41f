advise advise_a_word.yaml
