"""Selection: are the selected words enough, are they needed, and are they no code for the label?"""
