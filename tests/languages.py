"""A short text in each of some languages."""

TEXTS = {
    "de": "Wer viele Seiten speichert, muss sie später auch wiederfinden. Deshalb liegen die Seiten einer Domain "
    "nebeneinander, und ein Index nennt zu jedem Zeitpunkt, welche zuletzt abgerufen wurden. Die Daten werden "
    "beim Schreiben geprüft, damit niemand einer veränderten Seite vertraut. Wenn ein Server ausfällt, wartet das "
    "Programm eine Weile und versucht es dann noch einmal, bis die Frist abgelaufen ist. ",
    "en": "Whoever stores many pages has to find them again later. That is why the pages of a domain lie side by side, "
    "and an index says which of them were fetched last. What is written is checked, so that nobody trusts a page that "
    "was altered. If a server fails, the program waits for a while, and then tries again until its time is over. ",
    "fr": "Celui qui conserve beaucoup de pages doit aussi pouvoir les retrouver plus tard. C'est pourquoi les pages "
    "d'un domaine sont rangées les unes à côté des autres, et un index indique lesquelles ont été lues en dernier. "
    "Si un serveur tombe en panne, le programme attend un moment, puis il essaie de nouveau jusqu'à la fin du délai. ",
    "ru": "Кто хранит много страниц, тот должен потом уметь их находить. Поэтому страницы одного домена лежат рядом, "
    "а указатель говорит, какие из них были загружены последними. Всё, что записано, проверяется, чтобы никто не "
    "доверял изменённой странице. Если сервер не отвечает, программа некоторое время ждёт, а затем пробует ещё раз, "
    "пока не истечёт срок. В таблице хранятся и прежние версии, поэтому можно узнать, какой страница была год назад. ",
    "zh": "要保存大量网页,以后还必须能找到它们。因此同一个域名的网页放在一起。写入 HBase 的内容都会检查。",
    "ja": "多くのページを保存するなら、あとで見つけられるようにしなければなりません。HBase のテーブルに置かれます。",
    "ko": "많은 페이지를 저장하려면 나중에 다시 찾을 수 있어야 합니다. 그래서 HBase 테이블에 놓입니다. ",
}
