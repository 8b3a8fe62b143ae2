"""Words that ask rather than tell: left out of a query when anything else remains.

The lists are short on purpose and pooled, because the language of a query is not known. A word that carries meaning
in another of the languages (German "die", French "car", Spanish "son") is missing from them: where it is common, its
document frequency already makes it weigh next to nothing. The same goes for a word that means something once its
accents are folded away (German "über").
"""

from __future__ import annotations

from typing import Final

from hermes_memory.domain.characters import fold

_ENGLISH: Final = """
a about after again all also am an and any are as at be because been before being both but by can could did do does
doing done down during each ever every few for from further get gets getting got had has have having he her here hers
him his how i if in into is it its itself just me more most my myself no nor not now of off on once only or other our
ours out over own same she should so some such than that the their theirs them themselves then there these they this
those through to too under until up us very was we were what when where which while who whom whose why will with would
you your yours s t d ll m re ve don didn doesn isn wasn aren weren haven hasn hadn won wouldn couldn shouldn please
tell must might shall need needs still yet
"""
_GERMAN: Final = """
aber als am an auch auf aus bei beim bist da damit dann das dass dein deine dem den denn der des dich dir doch du
durch ein eine einem einen einer eines er es euch euer gegen habe haben habt hatte hatten ich ihm ihn ihr ihre
ihrem ihren ihrer im ist ja jede jedem jeden jeder jedes kann kein keine keinen können mein meine meinem meinen meiner
mich mir nach nicht noch nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind um und uns unser
unsere unter vom von vor wann waren warum weil welche welchem welchen welcher welches wenn wer werden wie wieder
wir wird wirst wo wofür woher wohin worden wurde wurden zu zum zur bitte
viel viele vielen wieviel wieviele oft muss müssen musst soll sollen sollte sollten darf dürfen kannst heißt heißen
"""
_SPANISH: Final = """
al algo antes como con contra cual cuando cuál cuáles cuándo cuánto cómo de del desde donde dónde durante el ella
ellas ellos en entre eran es esa esas ese eso esos esta estaba estamos estar estas este esto estos está están fue
fueron ha había hacia han hasta hay he la las le les lo los me mi mis muy más nada ni no nos nosotros nuestra nuestro o
otra otro para pero poco por porque que quien quién qué se según ser si sido sobre somos soy su sus sí también te
tiene tienen tu tus tú un una unas uno unos usted ustedes y ya yo él
cuánta cuántas cuántos cuáles quiénes debe deben debo debemos puede pueden puedo podemos
"""
_FRENCH: Final = """
alors après as au aucun aussi autre aux avait avant avec avoir avons ce cela celle celui ces cet cette chez comme
d dans de depuis des dès du elle elles en encore entre est et eu eux fait furent fut il ils j je l la le les
leur leurs lui là m ma mais me mes moi n ne ni nos notre nous on ont ou où par parce pas pendant peu plus pourquoi
qu quand que quel quelle quelles quels qui quoi s sa sans se ses si sommes sont sous suis t ta te tes toi tous
tout toute toutes tu un une vers vos votre vous y à ça été être
combien lequel laquelle lesquels lesquelles faut doit doivent devons peut peuvent peux pouvons appelle
"""
_PORTUGUESE: Final = """
ao aos aquela aquele aquilo as com como da das de dela dele deles depois do dos e ela elas ele eles em entre eram
essa esse esta estava este está estão eu foi foram há isso isto já lhe mais mas mesmo meu minha muito na nas nem no
nos nossa nosso não nós o onde ou para pela pelas pelo pelos por porque qual quando quanto que quem se sem ser seu
seus somos sou sua suas são só também te tem teu têm um uma umas uns você vocês à às é
quantos quantas quais deve devem pode podem posso podemos chama
"""
_ITALIAN: Final = """
a agli al alla alle allo anche aveva avevano che chi coi con cosa cosi così cui d da dagli dai dal
dalla dalle dei degli del della delle dello di dopo e ed erano essere fino fra gli ha hai hanno ho i il in io l la
le lei li lo loro lui ma mi mia mie miei mio molto ne negli nei nel nella nelle nello noi non nostra nostro o ogni per
perché più poi prima quale quali quando quanto quella quelle quelli quello questa queste questi questo qui se sei senza
si siamo siete sono sotto sta stata stato su sua sue sugli sui sul sulla sulle suo suoi tra tu tua tuo tutti tutto un
una uno vi voi è
quanti quante devono dobbiamo può possono posso possiamo chiama
"""
_RUSSIAN: Final = """
а без более бы был была были было быть в вам вас ведь весь во вот все всего всех вы где да даже для до его ее если есть
еще же за здесь и из или им их к как какая какие какой когда кого кому которая которые который кто куда ли между меня
мне много мой моя мы на над надо нам нас наш не него нее нет ни них но ну о об один она они оно от очень по под пока
после потом почему при про раз с сам свой себя со так также там тебя тем то тогда того тоже только том тот ты у уже
хотя чего чей чем через что чтобы эта эти это этот я
сколько какого какому каком какую каких каким куда откуда зачем чья чье чьи надо нужно нужен нужна нужны можно нельзя
должен должна должно должны зовут называется
"""
STOP_WORDS: Final = frozenset(
    fold(word).casefold()
    for words in (_ENGLISH, _GERMAN, _SPANISH, _FRENCH, _PORTUGUESE, _ITALIAN, _RUSSIAN)
    for word in words.split()
)
"""Casefolded, without accents, not stemmed."""
