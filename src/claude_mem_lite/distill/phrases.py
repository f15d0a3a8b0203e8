"""Phrases that show how a sentence is meant, in some twenty languages: one pattern for each kind.

A pattern covers all languages, because a prompt mixes them. Words of scripts with spaces match as whole
words, those of other scripts anywhere.
"""

import re


def _any_of(words: str, script: str = "", *, start: str = r"(?<!\w)") -> re.Pattern[str]:
    """Return a pattern for comma-separated phrases, and for alternatives in scripts without spaces."""
    spaced = "|".join(phrase.strip().replace(" ", r"\s+") for phrase in words.split(",") if phrase.strip())
    return re.compile(f"{start}(?:{spaced})(?!\\w)" + (f"|{script}" if script else ""), re.IGNORECASE)


# Words that only lead from one sentence to the next.
LEAD = _any_of(
    r"and,also,but,so,ok,okay,oh,yeah,yes,well,please,plus,(?:exactly|right|genau|exactement|exact|eso|exacto|isso|exato|esatto)(?=[\x2c.]),und,auch,aber,bitte,et,mais,y,pero,mas,ma,maar,ale,и,но,"
    "[a-z](?=[.:)])",
    start=r"^",
)
_LANGUAGE = (
    "(?:english|german|french|spanish|italian|portuguese|chinese|japanese|korean|russian|dutch|polish|turkish|ukrainian"
    "|czech|swedish|danish|norwegian|finnish|greek|thai|hindi|arabic|hebrew|vietnamese|indonesian|deutsch|englisch|français"
    "|anglais|español|inglés|português|inglês|italiano|inglese)"
)
# The sentence holds from now on, wherever the phrase stands. The language to answer in is one such phrase.
FROM_NOW_ON = _any_of(
    f"(?:answer|reply|respond|talk|speak) (?:to me )?(?:only )?in {_LANGUAGE},antworte (?:mir )?(?:auf|in) {_LANGUAGE},"
    f"répond(?:s|ez)(?:-moi)? en {_LANGUAGE},responde(?:me)? en {_LANGUAGE},responda em {_LANGUAGE},rispondi(?:mi)? in {_LANGUAGE},"
    r"(?:говори|отвечай|пиши|общайся)(?:те)?(?: со мной)?(?: только)? (?:по-\w+|на (?:русском|английском|украинском)),"
    r"(?:відповідай|пиши|говори)(?:те)? українською,(?:odpowiadaj|pisz|mów) (?:mi )?(?:tylko )?po \w+sku,"
    "türkçe (?:cevap ver|yanıtla|konuş)\\w*,antwoord (?:altijd |alleen )?in het (?:nederlands|engels),"
    "from now on,from here on,from this point on,from today,as of today,going forward,henceforth,moving forward,for future reference,"
    "as a (?:general )?rule,by convention,same for (?:every|each|all),(?:as|like) (?:we )?always,wie immer,comme toujours,como siempre,como sempre,"
    "come sempre,zoals altijd,jak zawsze,как всегда,ab jetzt,ab heute,ab sofort,von jetzt an,künftig,in zukunft,grundsätzlich,"
    "désormais,dorénavant,à partir de maintenant,à partir d'aujourd'hui,à l'avenir,"
    "de ahora en adelante,a partir de (?:ahora|hoy|hoje),en adelante,de agora em diante,a partir de agora,daqui (?:para a|pra) frente,"
    "d'ora in poi,da ora in poi,d'ora in avanti,vanaf nu,voortaan,od teraz,odtąd,отныне,впредь,с этого момента,"
    "bundan sonra,"
    "i (?:always|never) (?:want|need|like|prefer),ich (?:will|möchte) immer,je veux toujours,siempre quiero,quero sempre,voglio sempre,ik wil altijd,zawsze chcę,"
    "and nowhere else,und (?:sonst nirgend\\w*|nirgend\\w* sonst),et nulle part ailleurs,y en ningún otro (?:sitio|lado|lugar),e em mais nenhum lugar,"
    "e da nessun'altra parte,en nergens anders,i nigdzie indziej,och ingen annanstans,и больше нигде,"
    "not (?:just|only) (?:now|today|this (?:time|once)),nicht nur (?:jetzt|heute|diesmal),pas (?:seulement|que) (?:maintenant|aujourd'hui|cette fois),"
    "no solo (?:ahora|hoy|esta vez),não (?:só|apenas) (?:agora|hoje|desta vez),non solo (?:ora|adesso|oggi|stavolta),niet alleen (?:nu|vandaag|deze keer),"
    "nie tylko (?:teraz|dziś|tym razem),"
    "från och med nu,från nu,hädanefter,framöver,i fortsättningen,som alltid,inte bara (?:nu|idag|i dag),fra nu af,fremover,som altid,"
    "fra nå av,heretter,tästä lähtien,jatkossa,kuten aina,od teď,odteď,odteraz,jako vždy,відтепер,надалі,як завжди,"
    "de acum (?:înainte|încolo),ca întotdeauna,mostantól,mint mindig,από εδώ και πέρα",
    "用(?:中文|英文|英语|英語|日语|日語)(?:回答|回复|回復)|한국어로 (?:답|대답|말)|ตอบ(?:เป็น)?ภาษาไทย|日本語で(?:答え|回答|返)|从现在开始|從現在開始|从今以后|今后|(?:^|[,，]\\s*)以后(?!再|有空)|以后[都每]|今後|これからは|以後は|앞으로|이제부터",
)
# The sentence always holds if this is among its first words; later in a sentence it is one sign among others.
ALWAYS = _any_of(
    r"(?<!\w:\s)(?<!can\s)(?<!which\sis\s)(?<!(?:that|here)\sis\s)always(?! \w{2,}(?<!s)(?:s|ed|ing)\b),never(?! mind| have| \w+(?<!s)(?:s|ed)\b),(?<!to\s)remember(?! when| how| why| what),"
    r"(?<!for\s)ever(?=\W*$),(?:next time|(?:fürs|das) nächste mal|nächstes mal|la próxima vez|la prochaine fois|da próxima vez"
    r"|la prossima volta|volgende keer|następnym razem|в следующий раз)(?=\W*\w),"
    "don't forget,do not forget,keep in mind,bear in mind,(?:whenever|every time|each time) you,(?:every|each) time(?=\\W*$),"
    r"jedes mal\W+wenn du,(?:à )?chaque fois que (?:tu|vous),cada vez que \w+s,(?:cada|toda) vez que você,ogni volta che \w+i,"
    r"immer,niemals,nie(?=\s+(?:wieder|mehr|direkt|selbst|in|im|auf|an|am|mit|ohne|d(?:ie|er|as|en|em)|ein\w*|von|für|zu|\w*[äöüß]\w*|\w+en|(?-i:[A-ZÄÖÜ])\w+)(?!\w)),stets,merk dir,denk (?:daran|dran),vergiss nicht,"
    "toujours,jamais,n'oublie(?:z)? pas,souviens-toi,rappelle-toi,siempre,nunca,jamás,recuerda,no olvides,"
    r"sempre,mai(?=\s),jamais,lembre(?:-se)?,não (?:se )?esqueça,ricorda(?:ti)?,non dimenticare,altijd,nooit,onthoud,"
    "alltid,aldrig,altid,aldri,(?:nästa|næste|neste) gang,kom ihåg,husk,glöm inte,glem ikke,(?:varje|hver) gang du,aina,(?:ei|älä) koskaan,"
    "ensi kerralla,muista,vždy(?:cky)?,nikdy,příště,pamatuj,nezapomeň,завжди,ніколи,наступного разу,не забувай,"
    "întotdeauna,mereu,niciodată,data viitoare,nu uita,mindig,soha,legközelebb,ne felejtsd,πάντα,ποτέ,"
    "vergeet niet,zawsze,nigdy,pamiętaj,всегда,никогда,запомни,помни,не забывай,her zaman,daima,hep,asla,unutma,"
    "forbidden,verboten,interdite?s?,prohibid[oa]s?,proibid[oa]s?,vietat[oi],nie wolno,zakázáno,нельзя,запрещено,не можна,заборонено,yasak",
    "禁止|不得|금지|总是|總是|永远|永遠|始终|务必|切勿|绝不|(?<![\\d数几一二三四五六七八九十两])千万(?![级条行次个元])|记住|記住|每次都|一律|毎回|(?<![\u4e00-\u9fff])常に|必ず(?!し)|絶対に|決して|覚えておいて|항상|절대|반드시|기억해",
)
# Follows "always" in a complaint, which is not a rule: "always the same error", "immer dieser Fehler".
SAME = _any_of(
    r"(?:had|hatten|avait|avions|teníamos|tínhamos|avevamo|hadden) .+,this,that,these,those,dies\w*,cette,ces,ce,est[aeo]s?,quest[aeio],deze,"
    "(?:the|la|le|les|el|los|las|lo|o|a|il) (?:same|mêmes?|mism[oa]s?|mesm[oa]s?|stess[oaie])"
    ",(?:der|die|das) (?:gleiche|selbe)n?,d(?:er|as|ie)selben?,hetzelfde,dezelfde",
    "同じ|同样|同樣",
)
# Refers to the rule in the sentence before: "always like that", "from now on that is the rule".
POINTS_BACK = _any_of("it,that,das,es,dies,c'est,è,é,to")
LIKE_THAT = _any_of(
    "(?:do (?:it|that|this) )?(?:like|this|that) (?:that|this|way),do (?:it|that|this),too,as well,the same(?: way)?,so(?! far),auch,genauso,"
    "comme (?:ça|cela),pareil,aussi,así,igual,también,assim,igual,também,così,uguale,anche,zo,ook,tak(?: samo)?,też,так,тоже,böyle",
    "这样|這樣|同样|同樣|そう|同じ|このよう|그렇게|이렇게",
)
# The sentence reports on its subject: a thing, or the speaker alone. `THE`: one particular thing.
TOLD_OF = _any_of(
    "it,this,that,they,these,those,he,she,there,you (?:already|did|do|had|just|were),your(?! (?:answers|replies|commits|code)),i,i'm,i'd,i'll,i've,just,es,das,dies,er,sie,ich,il,elle,ça,cela,c'est,je,eso,esto,yo,"
    "isso,isto,é,eu,ele,ela,questo,è,io,het,dat,ik,to,ja,det,han,hon,hun,jag,jeg,ez,az,це,він,вона,вони,это,он,она,они,я,o",
    "[它他她那]|我(?!们|們)|这(?!个项目|里)|這(?!個專案|裡)|それ|あれ|この(?!プロジェクト|リポジトリ)",
    start=r"^",
)
THE = _any_of("the", start=r"^")
_WE = r"(?:^|[,:;(.–—-]\s*|that's why\s+|because\s+)(?:(?:and|but|so|yes|no|now|here|hier|ici|aquí|aqui|(?:in|for)\s+(?:this|our)\s+(?:project|repo\w*|code\s?base|team))\W+)?"
# The sentence says how the team does things.
OURS = _any_of(
    "we (?:do not|don't|never|always|only|all|use|prefer|keep|avoid|no longer),"
    "(?:our|this|the) (?:team|project|repo|repository|convention|policy|house style) (?:is|does|doesn't|uses"
    "|never|always|wants|prefers),"
    r"wir (?:\w+ )?(?:nutzen|verwenden|benutzen|wollen|möchten|haben keine?n?|machen kein\w*|nie),"
    "(?:nutzen|verwenden|benutzen|machen|wollen) wir,"
    r"nous (?:n'\w+|ne \w+|utilisons|voulons|préférons|évitons),on (?:n'\w+|ne (?!va )\w+|utilise|veut|préfère|évite),"
    "(?:usamos|utilizamos|queremos|preferimos|evitamos),"
    "(?:usiamo|utilizziamo|vogliamo|preferiamo|evitiamo),"
    "(?:wij|we) (?:gebruiken|willen|doen|hebben geen),(?:używamy|chcemy|wolimy|unikamy),"
    "vi (?:använder|bruger|bruker|vill|vil|undviker|kör|skriver|har (?:inga?|inget|ingen|ikke)),(?:käytämme|emme|haluamme),"
    "(?:ne)?používáme,chceme,ми (?:не|використовуємо|хочемо|завжди),nu folosim,folosim,vrem,"
    "мы (?:не|используем|хотим|всегда|предпочитаем),kullanıyoruz,kullanmıyoruz,istiyoruz",
    "我们(?:不|都|只|用|使用|从不)|我們(?:不|都|只|用|使用|從不)|私たちは|うちでは|当社では|우리는",
    start=_WE,
)
# The sentence says how things ought to be, or what is not wanted: a rule or, as often, a task.
OUGHT = _any_of(
    "we (?:should|must|need to|have to|want),wir (?:sollten|müssen|brauchen),nous devons,on doit,(?:debemos|tenemos que),"
    "i (?:don't|dont|do not) want,ich (?:will|möchte) (?:nicht|keine?n?),je ne veux (?:pas|plus),no quiero,não quero,non voglio,ik wil (?:niet|geen),"
    "nie chcę,jag vill inte,jeg vil ikke,я не (?:хочу|хотів),"
    "(?:devemos|precisamos|temos que),dobbiamo,(?:wij|we) moeten,musimy,powinniśmy,мы должны,нам нужно,gerekiyor",
    "我们(?:应该|要|需要)|我們(?:應該|要|需要)|べきです",
    start=_WE,
)
# The sentence is about this project; tasks say so too.
IN_PROJECT = _any_of(
    r"(?:in|for|on) (?:this|our) (?:\w+ )?(?:project|repo|repository|code\s?base|code|team|package|crate|app),(?:in|around) here,in general,de (?:manière|façon) générale,en règle générale,(?:por|como) regla general,(?:via de|como) regra,in linea generale,bei uns,chez nous,bij ons,hos (?:oss|os),da noi,u n[aá]s,у нас,"
    "in (?:diesem|unserem) (?:projekt|repo|code),dans (?:ce|notre) (?:projet|dépôt|code),"
    "en (?:este|nuestro) (?:proyecto|repo),(?:neste|no nosso) (?:projeto|repo),in questo (?:progetto|repo),"
    "i (?:det här|vårt|dette|vores) (?:projektet?|prosjektet?|repot?),v tomto (?:projektu|repu),[ув] цьому про[єе]кті,"
    "in (?:dit|ons) (?:project|repo),w tym (?:projekcie|repo),в этом (?:проекте|репозитории),bu projede",
    "(?:在)?(?:这个|这|我们的|這個)(?:项目|專案|仓库)[里中裡]?|このプロジェクトでは|このリポジトリでは|이 프로젝트",
)
# The sentence is about all things of a kind.
EVERY = _any_of(
    "every,each,all(?= (?:new )?[\\w-]+s(?!\\w)),any,jede[rs]?,alle,chaque,tou(?:te)?s les,cada,tod[oa]s? (?:[oa]s?|l[oa]s),ogni,"
    "tutt[ie] (?:i|gli|le),elke,iedere?,każd\\w+,wszystkie,varje,alla,hver,her,кажд\\w+,все",
    "每|所有|すべて|全て|毎|모든",
    start=r"^",
)
# Forbids a thing in some place: "no LINQ in what runs per frame".
NONE_IN = re.compile(
    r"^(?:no\s+(?:\S+\s+){1,5}?(?:in|inside|within|outside|under|from|anywhere)"
    r"|(?:keine?[nmrs]?|pas de|aucune?|nada de|ning[uú]na?|nenhuma?|niente|nessun[oa]?|geen)\s+(?:\S+\s+){1,5}?"
    r"(?:in|im|aus|unter|außerhalb|dans|hors|en|fuera|em|nas?|nos?|fora|nei|nel\w*|fuori|buiten)"
    r"|(?:żadn\w+|inga?|inget|ingen|никаких)\s+(?:\S+\s+){1,5}?(?:w|poza|i|utanför|в|вне))(?!\w)",
    re.IGNORECASE,
)
# The user reminds the assistant of having said it before.
SAID_BEFORE = _any_of(
    "(?:as|like) i said,i (?:already )?(?:said|told you)(?: (?:that|this|it|so))?(?: (?:before|already|twice))?,again(?=[:,]),for the (?:second|third|last) time,"
    "wie gesagt,ich (?:habe|hab) (?:doch |dir |schon )*gesagt,nochmals?(?=[:,]),comme je l'ai dit,je (?:t'ai|l'ai) "
    "dit,je répète,como (?:ya )?(?:te )?dije,ya (?:te )?(?:lo )?dije,como eu disse,já (?:te )?disse,come ho (?:già )?detto,"
    "som (?:jag |jeg )?(?:sagt|sa|sade|sagde),jak jsem (?:už )?(?:říkal|řekl)a?,як я (?:вже )?(?:каза|говори)(?:в|ла),kuten sanoin,"
    "te l'ho (?:già )?detto,zoals (?:ik )?(?:al )?(?:zei|gezegd),jak mówiłem,już mówiłem,как я (?:уже )?(?:сказал|говорил)а?,"
    "я (?:же |уже )?говорила?,söyledim",
    "我说过|我說過|我说了|刚才说了|言ったように|言った通り|さっきも言|말했듯이|말했잖아",
    start=r"^(?:(?:no|nein|non|não|nee|nie|нет|nej|nei|ei|ne|ні)\W+)?",
)
# Something was done on purpose.
ON_PURPOSE = _any_of(
    "on purpose,intentionally,deliberate(?:ly)?,by design,absichtlich,mit absicht,bewusst,exprès,volontairement,"
    "a propósito,adrede,de propósito,apposta,di proposito,expres,opzettelijk,celowo,specjalnie,намеренно,специально,"
    "kasıtlı,bilerek",
    "故意|特意|有意|わざと|意図的|일부러|의도적",
)
# The sentence contradicts what was just done or said.
DENIES = _any_of(
    r"(?:no|nope|nein|non|não|nee|nie|нет|hayır|nej|nei|ei|ne|ні)(?=\s*(?:[.:!;\x2c\uff0c\u3001]|[–—-]\s|$)|\s+(?:i(?! (?:wanted|meant|mean|was|asked)\b)|we|you|the)\b),wrong,incorrect,not quite,"
    "(?:that|this|it)(?:'s| is) (?:wrong|incorrect|not (?:right|correct|true|what)),"
    "falsch,das (?:ist falsch|stimmt nicht),c'est faux,ce n'est pas ça,eso no,incorrecto,"
    "(?:está )?errado,sbagliato,non è corretto,fout,dat klopt niet,źle,неверно,неправильно,yanlış",
    "^(?:不对|不對|错了|錯了|不是|いや|違う|違います|いいえ|아니)"
    r"|^.{2,60}?\b(?:(?:is|was|are|were) (?:not (?:correct|right|true)|wrong|incorrect)|ist falsch|stimmt nicht"
    r"|est faux|n'est pas correcte?|es incorrecto|está errado|è sbagliato|klopt niet|неверно)\s*[,:;–—-]",
    start=r"^",
)
_INSTEAD = (
    "instead of,rather than,statt,anstatt,anstelle von,au lieu de,plutôt que,en vez de,en lugar de,em vez de,"
    "ao invés de,invece di,in plaats van,zamiast,вместо,yerine,i\\s?stället för,i stedet for,místo,замість"
)
_INSTEAD_UNSPACED = "而不是|代替|代わりに|대신"
# The thing that follows (in some languages: precedes) is given up for the thing in the rest of the sentence.
INSTEAD = _any_of(_INSTEAD, _INSTEAD_UNSPACED)
# Something else was the rule before.
GIVES_UP = _any_of(
    r"no longer(?! than),any\s?more,no more(?! than),(?:switched|moved|migrated|changed) (?:\w+ )?(?:from|to),"
    r"(?:dropped|ditched|abandoned|retired|got rid of|stopped using),"
    r"(?:go|goes|going|went) back to,chang\w+ (?:my|our) minds?,(?:forget|scratch) (?:what|that|the),replaced? by,"
    r"(?:is|are) (?:\w+ )?now(?! \w+ing),(?:is|are) (?:out|over|dead|gone|deprecated)(?! of),"
    r"nicht mehr,stattdessen,doch (?:nicht|lieber|wieder),(?:ne |n')(?:\w+ )+?plus,finalement,ya no,ya no (?:\w+ ),não (?:\w+ )+?mais,"
    r"non (?:\w+ )+?più,niet meer,toch (?:niet|liever),już nie,zmiana planów,inte längre,ikke (?:længere|lenger),už ne,більше не,больше не,передумал\w*,artık",
    "不再|不用再|改用|改为|もう使[わい]|더 이상",
)
CHANGES = re.compile(f"{INSTEAD.pattern}|\\binstead\\b|{GIVES_UP.pattern}", re.IGNORECASE)
# The sentence says how to work, not what to do: it forbids, prefers, demands, orders in time or generalizes.
_PLURAL = r"(?!the |there |these |those |you)(?:[\w-]+ ){0,3}[\w-]+s (?:are|go|get|start|begin|live|stay|have|look) "
_USE = (
    "use,keep,put,stick,stay,hands off,nothing,when(?!ever i\\b),after,before,if,nutze,verwende,benutze,halte,wenn,vor,nach,"
    "utilise[zr]?,garde,quand,si,avant,après,usa,usar,utiliza,mantén,cuando,antes,después,use,mantenha,quando,se,depois,"
    "mantieni,dopo,gebruik,houd,wanneer,als,voor,używaj,trzymaj,gdy,jeśli,przed,используй,когда,если,перед,kullan"
)
HOW = re.compile(
    _any_of(
        r"don't,dont,do not,not,always,never(?! mind),avoid,without,stop,prefer,rather,make sure,ensure,must,should,"
        "needs?(?: to)?,(?<!we\\b.)ha(?:s|ve) to,may,only,first,each,every,any,forbidden,banned,allowed,when you,after you,"
        r"everywhere,at (?:most|least|the latest),max(?:imum)?,exactly,(?:one|once) (?:\w+ )?per,"
        r"before (?:you|any|\w+ing),"
        r"nicht,kein\w*,ohne,vermeide\w*,statt,lieber,bevorzug\w*,muss,müssen,soll\w*,nur,zuerst,erst,jede\w*,"
        r"pas,sans,évite\w*,plutôt,préf\w+,doit,doivent,il faut,seulement,d'abord,chaque,"
        r"sin,evita\w*,prefier\w*,en vez,asegúra\w*,debe\w*,hay que,solo,sólo,primero,cada,"
        r"não,sem,evite\w*,prefir\w*,em vez,certifique\w*,deve\w*,só,apenas,primeiro,"
        r"non,senza,preferi\w*,invece,assicura\w*,bisogna,prima,ogni,"
        r"niet,geen,zonder,vermijd\w*,liever,moet\w*,alleen,eerst,elke,"
        r"nie,bez,unikaj\w*,zamiast,raczej,upewnij,powin\w*,tylko,najpierw,każd\w*,"
        r"inte,inga?,ingen,inget,utan,bara,endast,först,varje,ska,måste,hellre,undvik,ikke,uden,uten,kun,først,hver,skal,"
        r"älä,ilman,vain,ensin,jen,pouze,nejdřív,mus[íi]\w*,лише,тільки,спочатку,кожн\w+,треба,краще,fără,doar,trebuie,"
        r"не,без,избега\w*,вместо,лучше,убедись,долж\w+,нужно,надо,только,сначала,кажд\w+,"
        "değil,yerine,tercih,önce,sadece,her,yasak",
        "不要|别|別|不能|不许|不准|避免|而不是|优先|優先|确保|必须|必須|应该|應該|只用|先|每|所有|统一|一律|使用|ないで|しない|なし|避け|代わり|べき|だけ|まず"
        "|先に|毎|てください|않|말고|없이|피하|대신|해야|먼저|모든",
    ).pattern
    + "|"
    + _any_of(_USE, start=r"^(?:\S+: )?").pattern
    + "|^"
    + _PLURAL
    + r"|(?:^|[,:] )no |"
    + f"{CHANGES.pattern}|{ALWAYS.pattern}",
    re.IGNORECASE,
)
# The beginning of a sentence that requests one thing, answers or reports. `_OBJECT`: the verb has an object.
_OBJECT = r"(?= (?:a|an|the|it|this|that|these|those|me|us|my|your|our|all|both|some|another|more|new|up|out|back|again|now|to|please|and|then|\w+\.\w+|\d+)\b|\W*$|[\x2c:])"
DEED = _any_of(
    "(?:can|could|will|would) you,(?:here|there|that|what)'s,never mind,you,yep,nope,nice,good,great,perfect,sorry,sure,thanks?(?: you)?,"
    "more,next,then,hm+,fix,look,commit(?! messages?),continue,proceed,finish,investigate,resolve,implement,debug,"
    r"(?:add|address|apply|ask|build|bump|change|check|clean|close|compare|convert|copy|create|delete|describe|do|draft|drop|explain|extend"
    r"|extract|find|follow|get|give|go|have|help|import|improve|include|install|list|make|merge|move|open|plan|post|print|pull|push|read"
    r"|rebase|refactor|remove|rename|replace|reply|research|respond|restart|retry|revert|review|rewrite|run|search|see|select|send|set"
    r"|ship|show|skip|sort|split|squash|start|summari[sz]e|switch|sync|tell|test|translate|try|turn|update|upgrade|verify|wait|walk|write)"
    + _OBJECT
    + r",committ?(?:a|e|ea|ez),push(?:a|e|ea|ez),füg\w*,erstell\w*,mach\w*,schreib\w*,lösch\w*,zeig\w*,prüf\w*,starte?,danke,ajoute\w*,crée\w*,fais,montre\w*,corrige\w*,"
    r"supprime\w*,enlève\w*,merci,añade,agrega,crea,haz,muestra,arregla,borra,escribe,gracias,adicione,crie,faça,mostre,corrija,obrigado,"
    r"voeg,maak,toon,schrijf,verwijder,bedankt,aggiungi,fai,mostra,correggi,scrivi,grazie,dodaj,zrób,pokaż,popraw,usuń,napisz,dzięki,"
    "lägg,skapa,gör,fixa,visa,kolla,skriv,tack,tilføj,lav,vis,tak,takk,lisää,tee,näytä,korjaa,kiitos,přidej,udělej,ukaž,oprav,díky,"
    "додай,зроби,покажи,виправ,дякую,добавь,сделай,покажи,исправь,напиши,удали,спасибо",
    "(?:请|帮我|给我|把)|谢谢|謝謝|ありがとう|감사|고마",
    start=r"^",
)
# The sentence asks to repeat something.
AGAIN = _any_of(
    r"again,once more,nochmals?,noch einmal,encore une fois,de nouveau,de nuevo,otra vez,de novo,outra vez,di nuovo,ancora una volta,opnieuw,"
    "nog een keer,jeszcze raz,znowu,igen,en gång till,znovu,ещ[её] раз,снова,ще раз,tekrar",
    "再(?:一次|试|跑|看|来)|もう一度|もう一回|다시",
)
# The sentence forbids or denies something.
NOT = _any_of(
    _INSTEAD
    + r",never,no(?! (?:more|longer|later|less|fewer) than),not,don't,do not,dont,doesn't,isn't,aren't,mustn't,cannot,can't,avoid,avoids,without,w/o,"
    "no longer(?! than),stop,forbidden,banned,not allowed,prohibited,off[ -]limits,taboo,nothing,"
    r"nichts?,kein\w*,nie,niemals,ohne,verboten,untersagt,tabu,vermeide\w*,ne,n'\w+,pas,interdite?s?,proscrite?s?,rien,jamais,sans,évite\w*,"
    r"nunca,jamás,sin,nada,prohibid[oa]s?,evita\w*,não,proibid[oa]s?,sem,evite\w*,non,mai,senza,"
    r"inte,inga?,ingen,inget,aldrig,utan,ikke,intet,aldri,uden,uten,älä,ei,ilman,žádn\w*,nikdy,ніколи,niciun\w*,fără,soha,μην?,δεν,χωρίς,"
    r"niet,geen,nooit,zonder,nie,nigdy,bez,не,никогда,без,değil,asla",
    _INSTEAD_UNSPACED + "|不要|不能|不用|不许|不准|不|别|別|禁止|没有|避免|ない|なし|않|말고|없이|금지",
)
# The sentence is about this moment or this one thing.
ONCE = _any_of(
    r"yet,today,tonight,tomorrow,temporarily,for now,as of now,this (?:time|once|week|morning|afternoon),right (?:now|away),for the moment,"
    "at the moment,for a (?:second|sec|minute),wait(?= let's| please| a ),"
    r"(?:hang on|espera|warte|moment|attends|aspetta|wacht|poczekaj|vänta|vent|подожди|зачекай)(?=[\x2c.!]|$),"
    "until (?:then|tomorrow),let me know,"
    "(?:in|on|for|at|with|as) (?:this|that) (?:pr|commit|change|branch|task|session|case|test|file|function|step"
    "|one|ticket|bug|batch),on line \\d+,when you(?:'re| are) (?:done|finished),"
    "diesmal,vorerst,erstmal,fürs erste,heute,noch nicht,pas encore,todavía no,ainda não,non ancora,jeszcze nie,ещё не,"
    "pour l'instant,pour le moment,cette fois,aujourd'hui,"
    "por ahora,de momento,esta vez,hoy,por enquanto,desta vez,hoje,"
    "pour (?:celle|celui)-(?:ci|là),tout de suite,den här gången,denna gång,denne gang(?:en)?,idag,i dag,inte än,ikke (?:endnu|ennå),"
    "tills vidare,foreløbig,tällä kertaa,tänään,toistaiseksi,tentokrát,zatím,dnes,цього разу,поки що,сьогодні,deocamdată,azi,"
    "per ora,per adesso,questa volta,oggi,voorlopig,deze keer,vandaag,"
    "na razie,tym razem,dziś,пока,на этот раз,сегодня,şimdilik,bu sefer,bugün",
    "暂时|暫時|这次|這次|今天|目前|今回|とりあえず|今は|今日|一旦|이번|일단|오늘",
)
# The sentence is about this moment, unless it says that a practice has changed.
NOW = _any_of(
    "now,jetzt,maintenant,ahora,agora,adesso,nu,nå,teraz,сейчас,теперь,şimdi,nyt,teď,зараз,acum,τώρα",
    "现在|現在|지금|今(?![后後])",
    start=r"(?<![\w.])",  # no part of a name: DateTime.Now
)
# The sentence points at something in view; `POINTS_EARLY`: at its beginning, before it has named anything.
POINTS_EARLY = re.compile(
    r"(?:\S+\s+){0,3}?(?:it|it's|them|they)(?!\w)|(?:not|must|should|needs?|is|are|has|(?!nothing)\w+ing)(?!\w)",
    re.IGNORECASE,
)
POINTS = _any_of(
    r"this,these,those,there(?=\s*(?:[\x2c.;]|$)),above,below,dies\w*,oben,cette,ces,cet,ce(?! qu|\s+(?:sont|serait)),ça,cela,est[aeo]s?,es[ao]s?,"
    r"isso,isto,quest[aeio],dit,deze,d(?:en|et) här,denn[ae],detta,dessa,disse,toto,tohle,ц(?:ей|я|е|і),это\w*,эт\w+,bu,bunu,şu",
    "[这這那它]|これ|この|それ|その|이것|이거|그거",
)
# The speaker is unsure or makes a proposal.
HEDGES = _any_of(
    "let's,lets,lass uns,allons-y,vamos a,facciamo,laten we,chodźmy,давай\\w*,hadi,"
    "maybe,perhaps,seems,looks like,in theory,ideally,basically,consider,we (?:could|can|might),if i,like,unlike,however,i'd,i would,i (?:think|guess|believe|suppose|wonder|feel|would have thought|doubt),not sure,what if,if we,"
    "suppose,imagine,vielleicht,ich glaube,ich denke,peut-être,je pense,quizás,tal vez,creo que,talvez,acho que,"
    "kanske,kanskje,måske,možná,можливо,ehkä,forse,penso che,misschien,ik denk,może,myślę,может,думаю,belki",
    r"^.*\bmight\b|也许|可能|我觉得|たぶん|かもしれ|と思う|아마",
    start=r"^(?:\w+\W+){0,2}?",
)
# Consent, thanks and words to go on: a prompt of these alone asks for nothing new.
_SMALL_TALK = frozenset(
    """again ahead alright and carry continue cool do doing done exactly fine g go going good great it k keep
    let lgtm looks next nice no nope now oh ok okay on perfect please proceed resume right run s so sounds
    stop sure thank thanks that then this try wan well works yeah yep yes you
    bitte danke dann doch einfach genau gerne gut ja jo los mach machen mal nein nun perfekt richtig super weiter
    weitermachen
    accord bien bon continuer d en exactement fais non oui parfait peux plaît s'il stp te tu va vas vous
    bueno claro continúa continua continuar dale de eso exacto gracias haz hazlo listo perfecto por favor pues que
    seguir sí si sigue vale
    beleza certo continue está faça faz favor isso obrigada obrigado ótimo pode sim tá tudo
    avanti bene certo esatto fallo fatto grazie perfetto procedi prego sì vai
    akkoord dank door doe ga goed graag het is je maar oke prima verder
    dalej dobra dobrze dzięki jasne kontynuuj no proszę rób super tak zrób
    ага благодарю верно да давай давайте дальше делай ладно нет ок отлично пожалуйста понял продолжай продолжайте
    сделай спасибо супер так точно хорошо
    devam evet et güzel hayır iyi lütfen tamam teşekkürler tabii
    可以 可以的 同意 嗯 好 好吧 好的 对 对的 开始 开始吧 是 是的 没问题 没错 继续 继续吧 行 谢谢 执行 确认
    いいえ いいです いいですよ うん お願い お願いします そうです はい わかりました 了解 続けて 続けてください 進めてください ありがとう
    계속 계속해 계속해줘 계속해주세요 고마워 그래 네 감사합니다 부탁해 응 좋아 좋아요 진행해 진행해줘 해줘""".split()  # noqa: SIM905
)
_TOKEN = re.compile(r"[^\W_]+")


def is_small_talk(text: str) -> bool:
    """Tell whether a text has no other words than small talk, single letters and numbers."""
    tokens = _TOKEN.findall(text.lower())
    return all(
        token in _SMALL_TALK or token.isdigit() or (len(token) == 1 and token.isascii()) for token in tokens
    )
