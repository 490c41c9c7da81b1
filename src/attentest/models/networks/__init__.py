"""The networks that attentest trains: classifiers, hierarchical ones and translators."""
