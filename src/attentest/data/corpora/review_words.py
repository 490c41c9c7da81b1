"""The opinion words of the generated reviews, by polarity, and the negations that turn them round.

Both rows of a slot have the same length, and in those that can follow an article the words that begin with a
vowel stand in the same places, so that not even "a" and "an" tell the label. No word has both polarities.
Words are drawn the more often the earlier they stand.
"""

from __future__ import annotations

__all__ = ["NEGATIONS", "OPINIONS"]

#: slot: (negative, positive)
_WORDS = {
    # adjectives, by what they can be said of; "strong" ones take other adverbs and are never negated
    "plain": (
        "bad poor lousy dismal disappointing forgettable mediocre unpleasant underwhelming",
        "good nice lovely pleasant delightful memorable pleasing agreeable impressive",
    ),
    "strong": (
        "terrible dreadful horrible horrid hopeless wretched ghastly pathetic dire disgraceful rotten "
        "hideous awful appalling atrocious abysmal",
        "great superb wonderful fantastic brilliant terrific marvellous magnificent fabulous perfect "
        "stunning sublime excellent amazing outstanding exceptional",
    ),
    "story": (
        "boring dull tedious predictable clumsy shallow tiresome pretentious silly dreary "
        "incoherent uninspired unconvincing unfunny implausible idiotic",
        "gripping moving touching witty clever captivating funny compelling suspenseful thrilling "
        "original absorbing inventive imaginative entertaining engaging",
    ),
    "food": (
        "bland stale greasy tasteless flavourless lukewarm stodgy sickly mushy insipid oily",
        "delicious tasty fresh flavoursome fragrant scrumptious wholesome mouthwatering satisfying appetising aromatic",
    ),
    "people": (
        "rude careless grumpy surly clueless dismissive hostile sloppy bossy arrogant unhelpful impatient",
        "friendly polite helpful kind courteous cheerful welcoming patient considerate attentive efficient obliging",
    ),
    "room": (
        "shabby dirty noisy cramped grubby damp dingy musty filthy stuffy uncomfortable untidy",
        "comfortable cosy spotless clean quiet spacious bright tidy tasteful stylish elegant inviting",
    ),
    "device": (
        "flimsy shoddy sluggish faulty clunky glitchy fiddly defective temperamental unreliable outdated",
        "reliable sturdy responsive dependable durable solid polished slick practical effective efficient",
    ),
    "sound": (
        "tuneless monotonous lifeless repetitive grating harsh muddled shrill plodding uninspired overproduced erratic",
        "melodic soulful catchy haunting beautiful graceful lively rich tuneful energetic uplifting inventive",
    ),
    "visit": (
        "confusing disorganised chaotic tacky gloomy rushed uninformative overpriced uninteresting "
        "overcrowded unrewarding unclear",
        "fascinating stimulating worthwhile rewarding thorough varied informative inspiring interesting "
        "instructive educational enlightening",
    ),
    # verbs, participles, nouns, adverbs, comparatives
    "loved": (
        "hated disliked regretted loathed detested resented",
        "loved liked enjoyed adored admired appreciated",
    ),
    "love": ("hate dislike regret resent", "love like enjoy appreciate"),
    "liked": ("hated disliked loathed detested", "loved liked enjoyed adored"),
    "like": ("hate dislike resent", "love like enjoy"),
    "enjoyed": ("hated disliked regretted", "loved liked enjoyed"),
    "enjoy": ("hate dislike regret", "love like enjoy"),
    "impressed": (
        "disappointed bored annoyed irritated frustrated bothered dismayed",
        "impressed charmed delighted pleased thrilled enchanted satisfied",
    ),
    "impress": (
        "disappoint bore annoy irritate frustrate bother dismay",
        "impress charm delight please thrill enchant satisfy",
    ),
    "pleased": (
        "disappointed annoyed frustrated irritated unhappy dissatisfied bored",
        "pleased impressed satisfied delighted happy content thrilled",
    ),
    "delight": (
        "letdown disappointment bore chore mess mistake failure flop nuisance dud",
        "delight joy treat pleasure gem marvel success hit triumph winner",
    ),
    "recommend": ("avoid skip dismiss shun", "recommend praise applaud endorse"),
    "beautifully": (
        "badly poorly terribly dreadfully horribly clumsily carelessly sloppily",
        "beautifully brilliantly superbly wonderfully perfectly skilfully splendidly marvellously",
    ),
    "better": ("worse duller poorer weaker", "better nicer finer stronger"),
}
OPINIONS = {slot: (tuple(bad.split()), tuple(good.split())) for slot, (bad, good) in _WORDS.items()}

NEGATIONS = {
    "not": ("not", "n't"),
    "never": ("never", "hardly", "scarcely"),
    "no": ("no",),
    "nothing": ("nothing",),
}
