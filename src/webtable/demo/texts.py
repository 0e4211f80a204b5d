"""Three sites of the sample web that people could read: in English, in German and in Chinese.

Every second page says its language; the others leave it to whoever stores them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class _SitePage(NamedTuple):
    path: str
    title: str
    text: str


ENGLISH: Final = """
/ | The lighthouse at Gull Point
The lighthouse at Gull Point has shown ships the way into the harbour since 1871. Today it is a museum: you can climb
its 142 steps, see the great lens from close by, and look over the bay from the gallery. We are open every day from
Easter to the end of October, and at weekends in winter if the wind allows it.
/history | A short history of the tower
Before the tower was built, fishermen lit a fire on the cliff, which could not be seen in fog. After the wreck of the
barque Henrietta the town collected money for a stone tower. It took three summers to build, because the stones had to
be landed from boats in calm weather. The first keeper moved in with his family before the roof was finished.
/lens | The great lens
The lens is as tall as a man and weighs more than two tonnes. It was made in Paris from hundreds of prisms, each
ground by hand, and gathers the light of one small lamp into a beam that can be seen for nineteen miles. The whole
lens floats in a bath of mercury, so that a child could turn it with one finger.
/keepers | The keepers and their families
Three keepers shared the work, and one of them was always awake. They trimmed the wick, wound the clockwork every four
hours and wrote down the weather. Their children went to school by boat, and stayed at home whenever the sea was
rough. The last keeper left in 1983, when the light was switched to electricity from the mainland.
/fog-signal | The fog signal
When fog hides the light, sound has to take its place. At first a bell was struck by hand, sometimes for two days
without a pause. Later a steam engine drove a horn that people could hear twelve miles away, and that nobody in the
village could sleep through. We sound it once a year, on the first Sunday in June.
/wreck | The wreck of the Henrietta
On a November night the barque Henrietta, loaded with timber, missed the entrance of the harbour and struck the reef.
Eleven men were saved by a rope that a fisherman carried through the surf. The figurehead of the ship was washed
ashore weeks later, and stands in our entrance hall. Divers still find coins and pieces of china near the reef.
/birds | Birds on the cliff
Gulls, puffins and cormorants breed on the cliff below the tower from April to July. Please stay on the path, because
a frightened bird leaves its eggs to the crows. In autumn thousands of small birds cross the sea at night and rest in
our garden. Volunteers count them every morning, and anybody may come along with a pair of binoculars.
/visit | Plan your visit
The path from the village takes half an hour and is steep in two places. A bus runs to the lower gate four times a day
in summer. There are no lifts in the tower, but the exhibition on the ground floor, the shop and the tea room can be
reached with a wheelchair. Dogs are welcome outside. Bring a coat: it is always windy up here.
/tickets | Tickets and prices
A ticket costs nine pounds for adults and five for children, and is valid for the whole day. Families pay no more than
twenty-four pounds. School classes come free of charge if they book two weeks before. Members of the museum society
may bring a guest. You can pay in cash or by card at the gate, and you need not buy a ticket in advance.
/tea-room | The tea room
Our tea room is in the old oil store, where the fuel of the lamp was kept behind walls a metre thick. We bake scones
and bread every morning and serve soup from the vegetables of the keepers' garden. The cakes are made by members of
the society from recipes in a keeper's notebook. From the window you can watch the ferry come in.
/night-tour | Climb the tower at night
On the first Friday of each month we open the tower after sunset. A guide tells how the keepers spent their nights,
and you can see the beam from inside, turning slowly over the dark water. Groups are small, so please write to us
before. The tour takes ninety minutes and is not for children under eight.
/restoration | How the tower is repaired
Salt water gets into every joint, and the storms of last winter broke two panes of the lantern. Masons replace damaged
stones with granite from the old quarry, and a clockmaker cleans the machine that turns the lens. The work costs more
than the tickets bring in, so we are grateful for every gift. Each stone can have a name on it.
"""

GERMAN: Final = """
/ | Imkerei Lindenhof
Seit vier Generationen halten wir am Rand des Dorfes Bienen. Unsere Völker stehen im Frühjahr bei den Obstbäumen, im
Sommer unter den alten Linden und im August in der Heide. Den Honig schleudern wir selbst und verkaufen ihn im
Hofladen und auf dem Wochenmarkt. Wer möchte, darf uns beim Arbeiten über die Schulter schauen.
/honig | Unsere Honigsorten
Jeder Honig schmeckt nach der Landschaft, aus der er kommt. Der Frühjahrshonig ist hell, mild und cremig gerührt. Der
Lindenhonig duftet nach Minze und bleibt lange flüssig. Im Herbst ernten wir einen kräftigen Heidehonig, der wie Gelee
im Glas steht. In guten Jahren gibt es außerdem dunklen Waldhonig, den die Bienen auf Tannen und Fichten sammeln.
/bienenjahr | Das Jahr der Bienen
Im Winter sitzt das Volk als Traube zusammen und hält sich warm. Im März fliegen die ersten Arbeiterinnen zu Weiden
und Krokussen. Im Mai wächst das Volk so schnell, dass es schwärmen will. Im Juli endet die Tracht, und die Königin
legt weniger Eier. Im Herbst werden die Drohnen vertrieben, und die Winterbienen schlüpfen, die bis zum Frühling
leben.
/schwarm | Einen Schwarm gefunden?
Wenn ein Volk zu groß wird, verlässt die alte Königin mit der Hälfte der Bienen den Stock. Die Traube hängt dann
einige Stunden an einem Ast, während Kundschafterinnen eine Höhle suchen. Schwärmende Bienen sind friedlich, weil sie
nichts zu verteidigen haben. Rufen Sie uns an, wir fangen den Schwarm ein und geben ihm eine neue Wohnung.
/koenigin | Die Königin
In jedem Volk lebt nur eine Königin. Sie legt im Juni bis zu zweitausend Eier am Tag und verlässt den Stock nur zur
Paarung. Ihr Duft hält das Volk zusammen; fehlt er, ziehen die Arbeiterinnen aus jungen Larven eine Nachfolgerin
heran. Wir zeichnen jede Königin mit einem farbigen Punkt, damit wir sie finden und ihr Alter kennen.
/wachs | Kerzen aus Bienenwachs
Die Bienen schwitzen das Wachs in kleinen Schuppen aus und bauen daraus ihre Waben. Alte Waben schmelzen wir ein,
reinigen das Wachs und gießen daraus Kerzen. Sie brennen ruhig, tropfen kaum und duften nach Honig. Im Advent können
Kinder bei uns selbst Kerzen ziehen; bitte melden Sie Gruppen vorher an.
/hofladen | Der Hofladen
Unser Laden ist freitags von 14 bis 18 Uhr und samstags von 9 bis 13 Uhr geöffnet. Sie finden dort alle Honigsorten,
Kerzen, Met und Seife, dazu Äpfel und Saft von den Nachbarn. Leere Gläser nehmen wir gern zurück. Außerhalb der
Öffnungszeiten steht vor dem Haus ein Schrank mit einer Kasse des Vertrauens. Wer weiter weg wohnt, kann den Honig
auch bestellen; wir schicken ihn mit der Post, sobald das Geld da ist.
/kurse | Imkern lernen
Unser Kurs für Anfänger beginnt im Februar und dauert ein ganzes Bienenjahr. An acht Samstagen lernen Sie, ein Volk zu
führen, Krankheiten zu erkennen, Schwärme zu verhindern und Honig zu ernten. Schutzkleidung stellen wir. Am Ende
bekommen Sie einen jungen Ableger mit nach Hause, wenn Sie einen geeigneten Platz im Garten haben.
/varroa | Gegen die Varroamilbe
Die Milbe Varroa saugt an Larven und erwachsenen Bienen und überträgt Viren. Ohne Behandlung würde fast jedes Volk in
wenigen Jahren sterben. Wir behandeln nach der letzten Ernte mit Ameisensäure und im Winter mit Oxalsäure, beides
Stoffe, die auch in der Natur vorkommen. Im Sommer zählen wir jede Woche, wie viele Milben auf die Unterlage fallen.
/blumen | Blumen für Bienen
Schon ein Balkon kann den Bienen helfen. Pflanzen Sie Lavendel, Thymian und Borretsch, und lassen Sie im Rasen den
Klee stehen. Gefüllte Blüten sehen schön aus, haben aber weder Nektar noch Pollen. Wichtig ist, dass auch im August
noch etwas blüht, denn dann hungern viele Völker mitten in der grünen Landschaft. Auf Gift gegen Blattläuse sollten
Sie verzichten, denn es tötet nicht nur die Läuse, sondern auch die Tiere, die von ihnen leben. Eine flache Schale mit
Wasser und ein paar Steinen darin wird an heißen Tagen gern besucht.
/wildbienen | Die wilden Verwandten
Neben der Honigbiene leben hier mehr als dreihundert Arten von Wildbienen. Die meisten wohnen allein, graben Röhren in
sandigen Boden oder ziehen in hohle Stängel ein. Viele besuchen nur eine einzige Pflanze und verschwinden mit ihr. Wir
lassen deshalb eine Ecke der Wiese ungemäht und haben alte Balken mit Löchern aufgehängt.
/rezepte | Rezepte mit Honig
Für einen Honigkuchen erwärmen Sie ein Pfund Honig mit Butter, rühren Mehl, Eier, Nüsse und Gewürze darunter und
backen den Teig bei mittlerer Hitze. Wer es eilig hat, gibt einen Löffel Honig zu Senf und Essig: Das wird eine Soße
für Salat. Heißer Tee soll etwas abkühlen, bevor der Honig hineinkommt, denn Hitze zerstört sein Aroma. Kinder unter
einem Jahr dürfen noch keinen Honig essen, auch nicht gebacken.
"""

CHINESE: Final = """
/ | 云雾山茶园
云雾山茶园位于海拔八百米的山坡上，清晨常有云雾。我们一家三代种茶、采茶、制茶，不使用化学农药。茶园面积不大，每年只生产几百公斤茶叶。
欢迎您在春天来山上采茶，也欢迎您全年到我们的茶室喝茶、看山、买茶叶。
/green-tea | 绿茶
绿茶是不发酵的茶。鲜叶采下以后要尽快杀青，用高温使叶子保持绿色，然后揉捻、烘干。清明节以前采的绿茶最嫩，味道清香，价格也最高。
泡绿茶的水不要太烫，八十度左右就可以，否则茶汤会变苦。喝过的茶叶还可以再泡两次，第二次的味道往往最好。
/black-tea | 红茶
红茶是全发酵的茶，叶子在空气中慢慢变红，产生花果的香味。我们的红茶用夏天的鲜叶制作，茶汤红亮，味道甜润，适合秋天和冬天喝。
喝红茶时可以加牛奶和糖，也可以什么都不加，慢慢品尝它本来的味道。晚上喝茶容易睡不着的人，可以把红茶泡得淡一些。
/oolong | 乌龙茶
乌龙茶介于绿茶和红茶之间，只发酵一部分。制作乌龙茶最费工夫，要反复摇青，让叶子的边缘变红，中间仍然是绿色。
好的乌龙茶可以泡七八次，每一次的香气都不一样。老师傅说，做乌龙茶要看天气，雨天做不出好茶。
/harvest | 采茶的季节
每年三月底，茶树发出新芽，采茶就开始了。采茶要用手指轻轻一提，不能用指甲掐，否则茶叶会变黑。一个熟练的采茶人一天只能采两三公斤鲜叶，
而四公斤多的鲜叶才能做成一公斤茶叶。五月以后天气变热，茶叶长得快，味道也变粗。
/brewing | 怎样泡茶
泡茶最重要的是水、温度和时间。山泉水最好，自来水要先放一夜。先用热水温壶，再放茶叶，第一次倒水后很快倒掉，这叫洗茶。
绿茶泡两分钟，红茶泡三分钟，乌龙茶要用开水。茶叶放多少看个人的口味，一般一杯水放三克。
/teaware | 茶具
喝绿茶用玻璃杯，可以看到茶叶在水中慢慢展开。喝红茶用白瓷杯，茶汤的颜色最好看。喝乌龙茶用紫砂壶，紫砂能保持温度，用久了壶本身也有茶香。
我们的茶室出售本地窑厂烧制的茶壶和茶杯，每一件都是手工制作。
/storage | 茶叶的保存
茶叶怕光、怕潮、怕异味。绿茶要密封以后放在冰箱里，一年之内喝完。红茶放在干燥阴凉的地方就可以，能保存两三年。
不要把茶叶和香料放在一起，因为茶叶很容易吸收别的味道。打开的茶叶最好在一个月内喝完。
/history | 茶园的历史
一百年以前，曾祖父从山下挑着茶苗上山，开出了第一块梯田。战争年代茶园荒废了，到了五十年代，祖父又把茶树一棵一棵补种起来。
最老的茶树现在还在，树干比碗口还粗，每年春天照样发芽。父亲常说，人照顾茶树，茶树也照顾人。
/visit | 怎样来茶园
从县城坐公共汽车到山脚下的村子，大约需要四十分钟，然后沿着石阶走半个小时。自己开车可以一直开到茶园门口。周末人多，请提前打电话预订。
山上早晚温度低，请带一件外套。茶园里有三间客房，可以住宿和吃饭。
/workshop | 制茶体验
每年四月和五月的周末，客人可以在茶园体验制茶：上午采鲜叶，下午跟老师傅学习杀青、揉捻和烘干，晚上把自己做的茶叶带回家。
一个小组最多八个人，孩子要有大人陪同。体验的费用包括午饭和一包茶叶，下雨时改在室内学习泡茶。
/shop | 购买茶叶
您可以在茶室购买茶叶，也可以写信或者打电话订购，我们用纸盒包装，三天之内寄出。绿茶、红茶和乌龙茶都有五十克的小包装，适合第一次品尝。
如果收到的茶叶有问题，一个月内可以退换。春茶数量有限，每年五月就卖完了。
"""

WRITTEN: Final = {
    "https://lighthouse.example": ("en", ENGLISH),
    "https://imkerei.example": ("de", GERMAN),
    "https://chayuan.example": ("zh", CHINESE),
}
"""The sites, each with its language and its pages: a line with path and title, then the text up to the next one."""


_TEMPLATE = """<!DOCTYPE html>
<html{language}>
<head>
<meta charset="utf-8">
<title>{title}</title>
</head>
<body>
<nav><ul>
{navigation}
</ul></nav>
<main>
<h1>{title}</h1>
<p>{text}</p>
</main>
</body>
</html>
"""


def written_pages() -> Iterator[tuple[str, str, bytes]]:
    """Yield the URL, the title and the body of each page."""
    for site, (language, written) in WRITTEN.items():
        pages = _pages(written)
        navigation = "\n".join(f'<li><a href="{page.path}">{page.title}</a></li>' for page in pages)
        for number, page in enumerate(pages):
            said = "" if number % 2 else f' lang="{language}"'
            filled = _TEMPLATE.format(language=said, navigation=navigation, title=page.title, text=page.text)
            yield site + page.path, page.title, filled.encode()


def _pages(written: str) -> list[_SitePage]:
    pages: list[_SitePage] = []
    for line in written.strip().splitlines():
        if line.startswith("/"):
            path, _, title = line.partition(" | ")
            pages.append(_SitePage(path, title, ""))
        else:
            pages[-1] = pages[-1]._replace(text=f"{pages[-1].text}\n{line}".strip())
    return pages
