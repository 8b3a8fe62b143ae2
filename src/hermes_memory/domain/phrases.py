"""What people say to keep a talk going, in the languages that agents meet most.

Written in lower case and without apostrophes; accents do not matter. A word belongs here only if by itself it never
carries a fact: "morning" may answer a question, "Roger" may be a person.
"""

from __future__ import annotations

from typing import Final

_SPACED: Final = """
ok, okay, okey, okok, k, oki, alright, all right, right, fine, cool, great, good, nice, perfect, awesome, amazing,
excellent, wonderful, brilliant, lovely, fantastic, superb, super, wow, yay, hooray, whoa, oh, ah, aha, um, uh, uhm,
hm, hmm, mhm, huh, eh, well, so, then, yes, yep, yup, yeah, yea, ya, y, aye, sure, sure thing, of course, certainly,
absolutely, definitely, exactly, indeed, correct, agreed, no, nope, nah, n, no thanks, thanks, thank you, thank u,
thankyou, thanx, thx, tnx, ty, tysm, tyvm, cheers, a lot, so much, very much, very, really, much appreciated,
appreciate it, i appreciate it, many thanks, thanks again, again, you too, same to you, youre welcome, welcome,
no problem, no worries, np, nvm, never mind, nevermind, please, pls, plz, please do, do it, just do it, go on,
go ahead, go for it, carry on, keep going, continue, proceed, please continue, next please, lets go, lets do it,
got it, gotcha, i see, i understand, understood, understand, noted, makes sense, that makes sense, sounds good,
sounds great, sounds fine, that sounds good, that sounds great, looks good, looks good to me, lgtm, sgtm, wfm,
works for me, good to go, all good, its fine, its ok, its okay, thats ok, thats fine, thats good, thats great,
thats right, thats correct, thats perfect, thats it, well done, good job, great job, nice job, good work,
great work, nice work, good bot, good point, fair enough, no idea, idk, hi, hello, hey, heya, hiya, howdy, yo,
hi there, hello there, hey there, sup, whats up, good morning, good afternoon, good evening, good night, goodnight,
how are you, how are you doing, hows it going, bye, bye bye, goodbye, see you, see ya, cya, see you later,
see you soon, see you tomorrow, take care, have a nice day, have a good day, have a great day, lol, lmao, rofl, omg,
copy that, ack, acknowledged, will do, on it, you bet, fyi, danke, danke dir, danke ihnen, danke euch, danke schön,
dankeschön, danke sehr, vielen dank, vielen lieben dank, herzlichen dank, besten dank, tausend dank, merci dir,
bitte, bitte schön, bitte sehr, gern, gerne, gern geschehen, ja, jawohl, jep, nein, nö, nee, genau, stimmt, richtig,
klar, alles klar, na klar, gut, sehr gut, sehr schön, ganz gut, schön, prima, toll, klasse, wunderbar, perfekt,
passt, das passt, passt so, in ordnung, einverstanden, verstanden, verstehe, ich verstehe, ach so, achso,
okay danke, weiter, mach weiter, mach das, bitte weiter, weiter so, los, los gehts, hallo, hallo zusammen, moin,
servus, grüß dich, grüß gott, guten tag, guten morgen, guten abend, gute nacht, tschüss, tschüß, ciao, bis dann,
bis bald, bis später, bis morgen, auf wiedersehen, mach ich, geht klar, super danke, freut mich, merci,
merci beaucoup, merci bien, mille mercis, beaucoup, sil te plaît, sil vous plaît, stp, svp, oui, ouais, non,
non merci, si, daccord, dac, ça marche, ça va, ça roule, très bien, bien, bien sûr, parfait, génial, exactement,
entendu, compris, jai compris, je comprends, je vois, vas y, allez y, allez, continuez, bonjour, bonsoir, salut,
coucou, bonne nuit, bonne journée, bonne soirée, au revoir, à bientôt, à plus, à demain, de rien, je vous en prie,
avec plaisir, gracias, muchas gracias, muchísimas gracias, mil gracias, gracias a ti, por favor, porfa, sí, vale,
claro, claro que sí, de acuerdo, está bien, esta bien, muy bien, perfecto, genial, excelente, exacto, correcto,
entendido, entiendo, ya veo, sigue, continúa, adelante, listo, hola, buenas, buenos días, buenas tardes,
buenas noches, adiós, hasta luego, hasta mañana, chao, de nada, no gracias, qué bien, que bien, obrigado, obrigada,
muito obrigado, muito obrigada, brigado, valeu, sim, não, certo, tudo bem, está bem, tá bom, ta bom, beleza, ótimo,
perfeito, entendi, pode continuar, olá, oi, bom dia, boa tarde, boa noite, tchau, até logo, até amanhã,
não obrigado, grazie, grazie mille, tante grazie, mille grazie, molte grazie, per favore, prego, sì, certamente,
va bene, daccordo, perfetto, ottimo, benissimo, bene, molto bene, esatto, capito, ho capito, continua, vai,
vai avanti, avanti, salve, buongiorno, buonasera, buonanotte, arrivederci, a presto, a domani, bedankt, dank je,
dank u, dankjewel, dankuwel, heel erg bedankt, alsjeblieft, graag, graag gedaan, goed, heel goed, oké, begrepen,
snap ik, klopt, ga door, ga verder, hoi, goedemorgen, goedemiddag, goedenavond, tot ziens, doei, tot straks,
tot morgen, dziękuję, dzięki, dzieki, dziękuję bardzo, wielkie dzięki, proszę, tak, nie, dobrze, dobra, jasne,
oczywiście, świetnie, rozumiem, zgoda, kontynuuj, dalej, cześć, hej, dzień dobry, dobry wieczór, dobranoc,
do widzenia, na razie, děkuji, děkuju, díky, prosím, ano, dobře, jasně, rozumím, pokračuj, ahoj, dobrý den,
dobrou noc, na shledanou, tack, tack så mycket, tusen tack, takk, tusen takk, takk skal du ha, mange tak,
tusind tak, tak for det, nej, nei, bra, mycket bra, fint, okej, absolut, visst, självklart, precis, förstår,
jag förstår, fortsätt, fortsett, fortsæt, hejsan, hei, god morgon, god morgen, godmorgon, god natt, god nat, hejdå,
ha det, farvel, vær så god, varsågod, kiitos, kiitos paljon, paljon kiitoksia, kyllä, joo, ei, hyvä, hyvin, selvä,
jatka, moi, hyvää huomenta, спасибо, большое спасибо, спасибо большое, спс, пасиб, благодарю, пожалуйста, да, ага,
угу, нет, неа, хорошо, ладно, окей, ок, конечно, отлично, супер, класс, здорово, прекрасно, понятно, понял, поняла,
ясно, верно, точно, согласен, согласна, давай, давайте, продолжай, продолжайте, дальше, привет, здравствуйте,
здравствуй, доброе утро, добрый день, добрый вечер, спокойной ночи, пока, до свидания, до завтра, не за что, дякую,
дуже дякую, щиро дякую, будь ласка, так, ні, добре, гаразд, зрозуміло, звичайно, чудово, продовжуй, привіт,
добрий день, добрий ранок, до побачення, teşekkürler, teşekkür ederim, çok teşekkürler, çok teşekkür ederim, sağol,
sağ ol, sağolun, lütfen, evet, hayır, tamam, tamamdır, peki, olur, güzel, çok güzel, harika, süper, anladım, tabii,
tabii ki, devam, devam et, merhaba, selam, günaydın, iyi akşamlar, iyi geceler, görüşürüz, hoşça kal, rica ederim,
ευχαριστώ, ευχαριστώ πολύ, παρακαλώ, ναι, όχι, εντάξει, οκ, ωραία, τέλεια, κατάλαβα, συνέχισε, γεια, γεια σου,
καλημέρα, καλησπέρα, καληνύχτα, شكرا, شكرا جزيلا, شكرا لك, نعم, أجل, لا, لا شكرا, حسنا, تمام, طيب,
ممتاز, فهمت, مفهوم, من فضلك, تابع, استمر, أكمل, مرحبا, أهلا, السلام عليكم, وعليكم السلام, صباح الخير,
مساء الخير, تصبح على خير, مع السلامة, عفوا, ممنون, مرسی, خیلی ممنون, بله, باشه, سلام, خداحافظ, תודה,
תודה רבה, בבקשה, כן, לא, בסדר, אוקיי, מעולה, מצוין, הבנתי, תמשיך, תמשיכי, שלום, היי, בוקר טוב, ערב טוב, לילה טוב,
להתראות, धन्यवाद, बहुत धन्यवाद, बहुत बहुत धन्यवाद, शुक्रिया, बहुत शुक्रिया, हाँ, हां, जी, जी हाँ, नहीं, ठीक है, ठीक,
अच्छा, बहुत अच्छा, बढ़िया, समझ गया, समझ गई, जारी रखें, जारी रखो, नमस्ते, नमस्कार, अलविदा, कृपया, cảm ơn, cám ơn,
cảm ơn bạn, cảm ơn nhiều, cảm ơn bạn nhiều, vâng, dạ, ừ, không, được, được rồi, tốt, tốt lắm, tuyệt vời, tuyệt,
hiểu rồi, tiếp tục, tiếp tục đi, xin chào, chào, chào bạn, chào buổi sáng, tạm biệt, terima kasih,
terima kasih banyak, makasih, makasih banyak, trims, tolong, iya, tidak, enggak, baik, baiklah, oke, siap, bagus,
mantap, sip, paham, mengerti, lanjut, lanjutkan, halo, hai, selamat pagi, selamat siang, selamat sore,
selamat malam, sampai jumpa, sama sama, salamat, maraming salamat, opo, asante, asante sana, ndiyo, sawa, 네, 넵,
넹, 예, 응, 어, 아니요, 아니, 그래, 그래요, 좋아, 좋아요, 좋습니다, 알겠어, 알겠어요, 알겠습니다, 알았어, 알았어요,
감사, 감사해요, 감사합니다, 정말 감사합니다, 고마워, 고마워요, 고맙습니다, 정말 고마워요, 계속, 계속해, 계속해줘,
계속해 주세요, 계속해주세요, 맞아, 맞아요, 맞습니다, 그렇군요, 오케이, 완벽해요, 훌륭해요, 수고하셨습니다, 안녕,
안녕하세요, 안녕히 가세요, 안녕히 계세요, 잘 자, 천만에요
"""

_UNSPACED: Final = """
好, 好的, 好吧, 好啊, 好呀, 好滴, 好哒, 好嘞, 好了, 很好, 太好了, 太棒了, 不错, 行, 行吧, 可以, 可以的, 没问题,
没事, 没关系, 嗯, 嗯嗯, 哦, 噢, 喔, 啊, 呀, 呢, 吧, 啦, 了, 哈, 哈哈, 呵呵, 嘿嘿, 是, 是的, 是啊, 对, 对的, 对啊,
没错, 当然, 当然可以, 不, 不用, 不用了, 不是, 谢谢, 谢谢你, 谢谢您, 谢谢啦, 多谢, 感谢, 非常感谢, 太感谢了, 谢了,
不客气, 不用谢, 请, 请继续, 继续, 继续吧, 接着, 明白, 明白了, 我明白了, 懂了, 知道了, 我知道了, 了解, 收到, 完美,
你好, 您好, 大家好, 早, 早上好, 早安, 中午好, 下午好, 晚上好, 晚安, 再见, 拜拜, 回见, 明天见, 好的好的, 同意,
辛苦了, 厉害, 赞, 棒, 謝謝, 謝謝你, 謝謝您, 多謝, 感謝, 對, 對的, 沒問題, 沒事, 繼續, 請繼續, 瞭解, 再見, 當然,
不錯, 哇, はい, はいはい, ええ, うん, うんうん, そう, そうです, そうですね, そうですか, そうだね, いいえ, いや,
いいです, いいね, いいですね, いいよ, よし, 了解です, 了解しました, 承知しました, 承知です, かしこまりました,
わかった, わかりました, 分かった, 分かりました, なるほど, オッケー, オーケー, おけ, ありがとう,
ありがとうございます, ありがとうございました, どうも, サンキュー, 感謝します, どういたしまして, お願いします,
よろしく, よろしくお願いします, 続けて, 続けてください, 続き, どうぞ, 大丈夫, 大丈夫です, 完璧, 完璧です,
素晴らしい, 素晴らしいです, すごい, すごいですね, さすが, こんにちは, こんばんは, おはよう, おはようございます,
おやすみ, おやすみなさい, さようなら, またね, お疲れ様, お疲れ様です, お疲れ様でした, やあ, もしもし, 笑, ね, よ,
です, ครับ, ค่ะ, คะ, นะ, ขอบคุณ, ขอบคุณมาก, โอเค, ตกลง, ได้, ดี, ดีมาก, เข้าใจแล้ว, ใช่, ไม่, สวัสดี, ต่อ, ต่อไป,
ㅋ, ㅎ, ㅇㅋ, ㄱㅅ, ㅇㅇ
"""


SPACED_PHRASES: Final = tuple(" ".join(item.split()) for item in _SPACED.split(","))
"""Phrases of scripts that put spaces between words."""

UNSPACED_PHRASES: Final = tuple(item.strip() for item in _UNSPACED.split(","))
"""Phrases of scripts without spaces, found in a run of characters wherever they adjoin."""
