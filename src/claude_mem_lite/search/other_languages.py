"""Function words and endings of languages other than English."""

import re

# Function words of other languages, one in each line, without those that are English words or names of code.
FOREIGN = """
    aber alle als auch auf aus bei bis bist da damit dann das dass dein dem den der des deshalb dich dir doch du ein
    eine einem einen einer eines er etwas euch für gegen hab habe haben hast hatte hier ich ihm ihn ihr ihre im ist
    jede jeder jetzt kann kannst kein keine können mehr mein mich mir muss müssen nach nicht noch nun nur oder
    ohne schon sehr sein seine sich sie sind soll sollte sollen sollten sondern über um und uns unser unter viel vom
    von vor wann warum weil wenn werden wie wieder wir wird wo wurde würde zu zum zur zwischen
    alors après au aussi aux avec avoir bien ça ce ceci cela celle celui ces cet cette chaque dans de depuis
    donc dont du elle elles encore entre est et était être eux faire fait faut il ils je jusque la le les leur leurs
    lui mais même mes moi mon ne nos notre nous ont ou où parce pas peu peut peux pour pourquoi puis qu quand que quel
    quelle qui quoi sa se sont sous ta tes toi tous tout toute très tu un une va vers veux voici voilà vos
    votre vous y
    al algo aquí así aún aunque bajo cada como con cual cuando cuál cómo del desde donde el ella ellos en eran ese
    eso esta estas este esto estos está están fue hace hacer hacia hasta hay las lo los más mi mientras muy nada
    nosotros otra otro para pero poco por porque puede puedes pues quién quiero sea según sobre su sus también
    tener tengo tiene tienen todo todos tus unos usted ya yo
    ao aos aqui até da das dela dele depois ela ele eles em então essa esse eu fazer foi isso isto já lhe mas meu
    minha muito na nas nem nossa nosso não onde pela pelo pode posso quem quero seu sua são só tem tenho
    toda tudo um uma vai você vocês às é
    abbiamo alla alle anche ancora che chi con cosa così dal dalla dei della delle dello deve di dopo essere fatto gli
    hai hanno ho il io lei loro lui mia mio molto nei nel nella noi non nostro ogni perché perciò più poi può quale
    quella quello questa questo qui sarà sei sempre senza si sia sono sopra sta sue sui sul sulla suo tra tutti
    tutto voglio vorrei è
    aan alle ben bij dat deze dit een geen haar heb hebben heeft hij hoe iets ik jij kun kunnen maar meer mij mijn moet
    moeten naar niet nog omdat ons onze ook te uit veel voor waar wanneer weer wel werd wie wij wil worden wordt
    zal ze zelf zich zij zijn zonder zou
    а без бы был была было быть в вам вас весь во вот все всё всего всех вы где да даже для до его ее её если есть еще
    ещё же за здесь и из или им их к как какой какая какие когда который которая которые кто ли либо меня мне мой может
    можно мы на над надо нам нас наш не него нее неё нет ни них но ну о об один он она они оно от очень по под после
    потом потому почему при про с сам сейчас себя со так также такой там тебя тем теперь то тоже только тот ты у уже
    чем что чтобы эта эти это этот этого этой этом я
    або але був бути від він вона вони все для є з його її як який коли що щоб та так також тут у це цей ця ці чи і й
    тому тільки
    ale albo bez bo był była było być czy dla ich ile ja jak jako je jego jej jest jeśli już każdy kiedy kto która
    które który mam moja mój może można nad nas nasz nie niego nim ona one oni oraz po przed przez przy są
    się tak także tam tego tej tu tylko tym w więc wszystko z za ze że żeby
    att blir den det detta där efter eller ett från för har hur här ikke inte jag mig mina mot måste och om oss på
    samt ska som så till utan vad vara vilken är hvor hva jeg og være
    ama bana ben beni bir bunu çok daha değil diye gibi her için ile ise kadar ki neden olan olarak onu siz
    şey şu ve veya
"""
# A word of a Slavic language without its ending: a case, a number or a person. At least three letters stay.
CYRILLIC = re.compile(
    r"([\u0430-\u045f\u0491]{3,}?)(?:ами|ями|ого|его|ому|ему|ыми|ими|ов|ев|ей|ий|ый|ой|ая|яя|ое|ее|ие|ые|ам|ям|ах|ях|ом|ем"
    r"|ых|их|ую|юю|ою|ею|ть|ся|у|ю|а|я|о|е|ё|ы|и|і|ї|ь|й)?"
)
