"""What there is: corpora, parts of models, explainers, challenges, papers, runs."""
