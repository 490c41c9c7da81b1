"""What the generated reviews are about: kinds of thing, their parts, their surroundings, neutral remarks.

``part`` and ``near`` are followed by the adjectives that can be said of them (OPINIONS in review_grammar);
``+`` marks a plural. An opinion of a part is an opinion of the thing, one of what is near it is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from attentest.data.corpora.review_grammar import Phrase, phrases

__all__ = ["THINGS", "Thing", "Topic"]


@dataclass(frozen=True)
class Topic:
    """A noun phrase, the adjectives that fit it, and its number."""

    phrase: Phrase
    kind: str
    plural: bool


@dataclass(frozen=True)
class Thing:
    """Something that is reviewed."""

    kind: str
    names: tuple[Phrase, ...]
    #: "i enjoyed ... it", "... beautifully"
    doing: tuple[Phrase, ...]
    made: tuple[Phrase, ...]
    parts: tuple[Topic, ...]
    near: tuple[Topic, ...]
    #: Remarks of its own, any of which go together, and shared ones, of which a text uses one at most.
    remarks: tuple[Phrase, ...]
    shared: tuple[Phrase, ...]


def _thing(text: str) -> Thing:
    """A thing from lines of ``key: alternative | alternative``."""
    lines = [line.partition(":") for line in text.strip().split("\n")]
    keyed = [(key.split(), phrases(rest)) for key, _, rest in lines]
    (_, kind, shared), names = keyed[0]

    def listed(wanted: str) -> tuple[Phrase, ...]:
        return tuple(phrase for key, found in keyed if key == [wanted] for phrase in found)

    def topics(wanted: str) -> tuple[Topic, ...]:
        return tuple(
            Topic(tuple(word for word in phrase if word != "+"), key[1], "+" in phrase)
            for key, found in keyed
            if key[0] == wanted
            for phrase in found
        )

    doing, made, remarks = map(listed, ("doing", "made", "remarks"))
    return Thing(kind, names, doing, made, topics("part"), topics("near"), remarks, _SHARED[shared])


_SHARED = {
    "owned": phrases("""
        {i} bought {it} in {month} | {it} arrived on a {day} | my {relative} gave me {it} for my birthday
        {i} ordered {it} from a shop in {city} | the parcel took {number} days to reach {city}
        {i} have owned {it} since {season} | {i} did n't keep the receipt
        {i} keep {it} next to a {colour} lamp
    """),
    "seen": phrases("""
        {i} saw {it} in {city} last {month} | {i} went on a {day} evening with my {relative}
        the tickets cost {number} pounds each | my {relative} came along | it was raining when {i} left
        {i} took the {number} o'clock bus home | {i} did not buy a programme | {i} sat in row {number}
        {i} sat next to a {colour} pillar
    """),
    "visited": phrases("""
        {i} went there on a {day} in {month} | {it} is {number} minutes from the station | {i} paid by card
        my {relative} came along with {few} children | {i} took the tram from the centre of {city}
        {i} parked behind the {colour} gate | {i} had n't planned to be in {city} that {season}
        {it} stands between a bakery and a {colour} church | there were {number} of us
    """),
}

THINGS = (
    _thing("""
        names story seen: film | film | movie | thriller | comedy | drama | western
        doing: watching | seeing
        made: the story is told | {it} is edited | the cast performs | the final scene is shot
        part plain: the acting | the camera work | the lead actor | the costumes + | the editing
        part story: the plot | the script | the dialogue | the ending | the opening scene | the jokes +
        near plain: the trailer | the poster | the weather that evening
        near story: the book behind the film | the short before the main feature | the director 's last work
        near room: the cinema itself | the foyer
        near food: the popcorn | the nachos +
        near people: the man in the ticket booth | the couple behind us +
        remarks: the story is set in {city} during a long {season} | {it} lasts about {few} hours
        remarks: {it} follows {number} sailors who search for a lost island | {it} is in french with subtitles
        remarks: a detective and a baker share a flat near the harbour | the credits run for {number} minutes
    """),
    _thing("""
        names story seen: play | play | musical | production | tragedy
        doing: watching | seeing
        made: the second act is staged | the chorus sings | {it} is directed | the cast performs
        part plain: the acting | the staging | the choreography | the costumes + | the lead actress
        part story: the dialogue | the first act | the script | the ending
        part sound: the singing
        near plain: the weather | the parking | the dinner beforehand
        near story: the lecture before the curtain | the ballet we saw last year
        near room: the theatre bar | the cloakroom
        near food: the ice cream in the interval | the pizza beforehand
        near people: the usher | the woman behind me
        remarks: {it} tells of {number} sisters who inherit a farm | the curtain rose at half past {number}
        remarks: a king divides his land among his {number} sons | {it} lasts about {few} hours
        remarks: the stage was {colour} from floor to ceiling | most of the cast is from {city}
    """),
    _thing("""
        names sound seen: concert | concert | gig | show | recital
        doing: attending | hearing
        made: the band played | the singer performed | {it} was organised | the songs were arranged
        part plain: the lighting | the choice of songs | the encore
        part sound: the music | the singing | the guitar sound | the drumming | the first half
        near plain: the weather | the journey there | the queue outside
        near sound: the support act | the busker by the gate | the music in the pub afterwards
        near room: the hostel afterwards | the train home
        near food: the beer | the hot dogs +
        near people: the security guard | the fans next to us +
        remarks: they played {number} songs from the first record | the drummer grew up in {city}
        remarks: the hall holds about {few} hundred people | the singer wore a {colour} coat
        remarks: the doors opened at half past {number} | {it} lasted about {few} hours
    """),
    _thing("""
        names story owned: novel | book | book | biography | mystery | paperback
        doing: reading | discussing
        made: {it} is written | the characters are drawn | the chapters are paced | {it} is translated
        part plain: the writing | the prose | the cover design | the illustrations +
        part story: the plot | the dialogue | the final chapter | the characters + | the central idea
        near plain: the film version | the author 's blog | the statue of the author in {city}
        near story: the previous story by this author | the sequel
        near room: the bookshop | the library
        near people: the bookseller | the courier
        remarks: {it} has {few} hundred pages | the story begins in {city} in the {season} of 1923
        remarks: a widow opens a letter that was sent {number} years ago | {i} finished {it} in {number} days
        remarks: {i} read {it} on the train to {city} | my {relative} wants to borrow {it}
    """),
    _thing("""
        names sound owned: album | album | record | debut
        doing: hearing | playing
        made: {it} is produced | the songs are arranged | {it} was recorded | the band plays
        part plain: the artwork | the songwriting | the closing track
        part sound: the guitar work | the singing | the second side | the melodies + | the title song
        part story: the lyrics +
        near plain: the interview in the magazine | the video
        near sound: the tour last year | the solo work of the bass player | the remix on the radio
        near people: the clerk in the music shop | the seller
        remarks: {it} has {number} tracks and a {colour} sleeve | the band is from {city}
        remarks: they made {it} in a barn over {number} weeks | {i} played {it} on the road to {city}
        remarks: the cover shows {few} horses | my {relative} plays bass too
    """),
    _thing("""
        names story owned: game | game | adventure | puzzle game
        doing: playing | exploring
        made: the levels are designed | {it} is animated | {it} runs | the heroes are voiced
        part plain: the graphics + | the level design | the artwork
        part story: the story | the puzzles + | the main quest | the dialogue
        part device: the menu system | the control scheme
        part sound: the music
        near plain: the advertising | the demo | the first part of the series
        near story: the comic in the box | the film adaptation
        near device: my old console | the download service
        near people: the support desk | the players in the forum +
        remarks: {it} takes {number} hours to finish | you steer a {colour} submarine through {few} caves
        remarks: {i} played {it} with my {relative} every {day} | the hero is a postman from {city}
        remarks: there are {number} islands to explore | i am on level {number} now
    """),
    _thing("""
        names device owned: phone | phone | handset | smartphone
        doing: using | owning
        made: {it} is built | the camera works | {it} performs | the speakers work | {it} is designed
        part plain: the design | the picture quality | the battery life
        part device: the screen | the camera | the software | the charger | the buttons +
        near plain: the advertisement | the packaging
        near device: the previous model | my old phone | the tablet from the same maker
        near people: the salesman | the courier | the woman on the hotline
        remarks: {it} has {few} cameras on the back | {i} use {it} for maps and messages
        remarks: {it} weighs less than {number} letters | {i} chose the {colour} one
        remarks: {i} charge {it} every {day} | {it} cost about {few} hundred pounds
    """),
    _thing("""
        names room visited: restaurant | restaurant | bistro | diner | cafe
        doing: visiting | trying
        made: the steak was cooked | the sauce was seasoned | the wine was chosen | the meal was served
        part plain: the menu | the wine list | the service
        part food: the soup | the curry | the salad | the bread | the cake | the rice | the desserts +
        part people: the staff | our waiter | the waitress | the chef
        part room: the dining room
        near plain: the weather | the walk there | the parking
        near room: the hotel across the street | the bar next door
        near food: the food at the place next door | the coffee at the station
        near people: our taxi driver | the family at the next table
        remarks: {i} ordered the lamb and my {relative} had the trout | the menu changes every {day}
        remarks: {i} booked a table for {number} | the chef trained in {city}
        remarks: {it} opens at {number} in {season} | the tablecloths are {colour}
    """),
    _thing("""
        names room visited: hotel | hotel | guesthouse | inn | hostel
        doing: visiting | choosing
        made: {it} is run | the rooms are furnished | the lobby is decorated | the beds are made
        part plain: the view | the service | the pool
        part room: the room | the bathroom | the bed | the lobby | the balcony | the rooms +
        part people: the receptionist | the staff | the porter
        part food: the breakfast
        near plain: the weather | the flight | the city tour | the beach
        near room: the airport | the place we had last year | the ferry
        near food: the food on the plane | the coffee in the old town
        near people: the taxi driver | the travel agent | our guide
        remarks: {i} stayed for {number} nights | the windows look out on a {colour} bridge
        remarks: breakfast is served from seven until ten | our room was on floor {number}
        remarks: i was in {city} for a conference | the key had a {colour} ribbon
    """),
    _thing("""
        names visit visited: museum | museum | gallery | exhibition
        doing: visiting | exploring
        made: {it} is laid out | the displays are lit | the rooms are labelled | {it} is curated
        part plain: the collection | the building
        part visit: the audio guide | the guided tour | the first floor | the photographs + | the displays +
        part people: the guide | the attendants +
        near plain: the weather | the bus ride
        near food: the sandwich from the kiosk | the lunch afterwards
        near people: the bus driver | the school group in front of us
        near visit: the castle up the hill | the zoo the day before
        remarks: {it} shows maps and clocks from {number} centuries | the {colour} wing was closed for repairs
        remarks: {i} spent {few} hours inside | there is a dinosaur near the entrance
        remarks: some of the paintings came from a palace in {city} | {it} opened in {month}
    """),
    _thing("""
        names visit visited: course | course | workshop | class
        doing: taking | attending
        made: {it} is taught | the lessons are planned | {it} is organised | the topics are explained
        part plain: the teaching | the handouts + | the pace
        part visit: the lessons + | the exercises + | the first session | the final project | the lectures +
        part people: the instructor | the tutor
        near plain: the weather | the journey
        near visit: the seminar i took in {city} | the free webinar
        near room: the canteen | the building next door
        near food: the coffee from the machine
        near people: the woman at the enrolment desk | the student beside me
        remarks: {i} signed up for {it} in {month} | {it} runs for {number} weeks every {season}
        remarks: {i} came every {day} after work | the topic was {colour} glass and how to cut it
        remarks: {i} did n't do the homework in week {number} | my {relative} told me about {it}
    """),
)
