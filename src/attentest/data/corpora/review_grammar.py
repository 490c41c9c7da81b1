"""How the generated reviews are said: clauses, sentence frames, and words that know nothing of the label.

In a phrase ``[slot]`` is filled by an opinion or negation word (review_words), ``{slot}`` by anything else.
"""

from __future__ import annotations

__all__ = [
    "DISTRACTORS",
    "FRAMES",
    "NEGATED",
    "NEGATED_DISTRACTORS",
    "OPTIONAL",
    "SLOTS",
    "STATED",
    "Phrase",
    "phrases",
]

Phrase = tuple[str, ...]


def phrases(text: str) -> tuple[Phrase, ...]:
    """Alternatives separated by ``|`` or by lines, each as its tokens."""
    lines = text.replace("|", "\n").split("\n")
    return tuple(tuple(line.split()) for line in lines if line.strip())


#: The reviewer's opinion of the thing, said outright.
STATED = phrases("""
    {topic} {was} {very} [fit]
    {topic} {was} {very} [fit]
    {topic} {turned-out} {very} [fit]
    {i} found {topic} {very} [fit]
    {i} thought {topic} {were} {very} [fit]
    everything about {it} {seemed} {very} [fit]
    this is a {very} [fit] {name}
    there is something {very} [fit] about {it}
    {i} {really} [loved] {it}
    {i} {really} [liked] {part}
    {i} {really} [enjoyed] {doing} {it}
    {topic} {really} [impressed] {me}
    {i-was} {really} [pleased] with {topic}
    {it} {was} a {real} [delight]
    {i-would} [recommend] {it} {any-day}
    {made} {rather} [beautifully]
    {topic} {was} {much} [better] than {expected}
""")

#: The same with a negation, which turns the opinion word round.
NEGATED = phrases("""
    {topic} {was} [not] {particularly} [fit]
    {topic} {was} [not] [fit] at all
    {topic} {was} [never] [fit]
    {i} did [not] find {topic} {particularly} [fit]
    {i} did [not] think {topic} {were} {particularly} [fit]
    {i} [never] found {topic} [fit]
    this is [not] a {particularly} [fit] {name}
    there is [nothing] {particularly} [fit] about {it}
    {i} did [not] {truly} [love] {it}
    {i} [never] [enjoyed] {it}
    {i} did [not] {truly} [like] {part}
    {i} did [not] [enjoy] {doing} {it}
    {topic} did [not] {truly} [impress] {me}
    {topic} [never] [impressed] {me}
    {i-was} [not] {truly} [pleased] with {topic}
    {it} {was} [not] a [delight]
    {it} {was} [no] [delight]
    {i-would} [not] [recommend] {it}
""")

#: Somebody else's opinion of the thing, or the reviewer's opinion of something else: never the label.
DISTRACTORS = phrases("""
    {person} {really} [liked] {it}
    {person} {really} [liked] {it}
    {person} found {it} {very} [fit]
    {person} said that {it} {were} {very} [fit]
    {it} {was} {very} [fit] according to {person}
    {person} told {me} that {it} was a {real} [delight]
    {person} was {really} [pleased] with {it}
    {near} {was} {very} [fit]
    {near} {was} {very} [fit]
    {i} found {near} {very} [fit]
    {i} {really} [liked] {near}
    {i-was} {really} [pleased] with {near}
    {near} {was} a {real} [delight]
    {near} {really} [impressed] {me}
""")

NEGATED_DISTRACTORS = phrases("""
    {person} did [not] {truly} [like] {it}
    {person} did [not] find {it} {particularly} [fit]
    {person} [never] [enjoyed] {it}
    {it} {was} [not] {particularly} [fit] according to {person}
    {person} was [not] {truly} [pleased] with {it}
    {near} {was} [not] {particularly} [fit]
    {near} {was} [never] [fit]
    {i} did [not] find {near} {particularly} [fit]
    {i} did [not] [like] {near}
    {near} did [not] {truly} [impress] {me}
""")

#: How clauses become sentences: O an opinion, D a distractor (against the opinion or with it), F a filler.
FRAMES = {
    "opinion": phrases("O | O | O | O | {opener} , O | {opener} , O | {hedge} O | O , {closer}"),
    "opinions": phrases("O , and O | O , and O | O ; O | {opener} , O , and O | O , and {hedge} O"),
    "against": phrases("""
        D , but O | D , but O | D , but {hedge} O | although D , O | O , although D | D , yet O
        O , even though D | O , but D | while D , O | D ; {opener} , O
    """),
    "with": phrases("D , and O | D , and O | O , and D | D ; O | O ; D | D , and {hedge} O | D ; {opener} , O"),
    "distractor": phrases("D"),
    "filler": phrases("F"),
}

#: Adverbs and adjectives that strengthen or weaken without turning round; left out about half of the time.
OPTIONAL = {
    "very": phrases("""
        very | very | very | really | rather | quite | truly | fairly | extremely | remarkably | genuinely
        surprisingly | unusually | consistently | decidedly
    """),
    "very-strong": phrases("absolutely | simply | truly | really | quite | utterly"),
    "particularly": phrases("particularly | particularly | especially | very | really"),
    "really": phrases("really | really | truly | rather | quite | certainly | definitely | genuinely"),
    "truly": phrases("really | really | truly | honestly"),
    "real": phrases("real | real | true | complete | total | bit of a"),
    "rather": phrases("rather | quite | really | very"),
    "much": phrases("much | a bit | far | a little | slightly | considerably"),
}

SLOTS = {
    "expected": phrases("{i} expected | {i} had imagined | {i} had been told | the advertisement suggests"),
    "turned-out": phrases("turned out to be | proved to be | proved | remained"),
    "seemed": phrases("was | is | felt | seemed"),
    "any-day": phrases("any day | every time | without a second thought"),
    "i": phrases("i | i | we"),
    "me": phrases("me | me | us"),
    "i-was": phrases("i was | i was | we were"),
    "i-would": phrases("i would | we would"),
    "opener": phrases("""
        to be honest | overall | in my view | all in all | in the end | in short | on the whole | on balance
        if you ask me | looking back | speaking for myself | as far as i can tell | frankly | by and large
        personally | in a word | at the end of the day | for what it is worth | after a bit of thought
    """),
    "hedge": phrases("i think | i must say | i have to say | i suppose | i would say | i have to admit"),
    "closer": phrases("in my opinion | if i am honest | at least for me | to say the least"),
    "relative": phrases("""
        brother | sister | mother | father | aunt | uncle | cousin | neighbour | boss | flatmate | grandfather
        grandmother | nephew | colleague | friend | daughter | son | partner | teacher
    """),
    "person": phrases("""
        my {relative} | my {relative} | my {relative} | my {relative} | a friend of mine | the local newspaper
        everybody else | a critic from {city} | somebody at work | the woman next to me | one blogger
        the person who gave me the tip | a man in the queue
    """),
    "day": phrases("monday | tuesday | wednesday | thursday | friday | saturday | sunday"),
    "month": phrases("january | february | march | april | may | june | july | august | october | november"),
    "season": phrases("spring | summer | autumn | winter"),
    "city": phrases("""
        leeds | london | dublin | paris | berlin | boston | chicago | lisbon | madrid | vienna | oslo
        bristol | glasgow | toronto | prague | york | naples | seattle
    """),
    "number": phrases("two | three | four | five | six | seven | eight | nine | ten | twelve"),
    "few": phrases("two | three | four"),
    "colour": phrases("red | blue | green | grey | black | white | yellow | purple | orange | brown | silver"),
}
