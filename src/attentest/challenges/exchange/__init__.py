"""Exchange: do the marked words decide?"""
