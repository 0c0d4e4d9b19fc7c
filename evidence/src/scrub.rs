//! Keeps places on this machine out of evidence files.
//!
//! A command line and a setting may name files by absolute paths, and those tell the user's name and
//! the layout of the machine without telling a reader anything about the run. So an absolute path is
//! cut to its last part wherever it stands at the beginning of a word or behind one of `= : , ; " ' ( [`:
//! `--database=/home/ada/x.sqlite` becomes `--database=x.sqlite`, `sqlite:/tmp/x` becomes
//! `sqlite:x`, and a URL loses its user, password and host with the rest of its path.
//!
//! A relative path stays as it is: the reader needs it and it gives nothing away.

/// `text` with every absolute path cut to its last part.
pub(crate) fn scrub(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    let mut at_start = true;
    while let Some(next) = rest.chars().next() {
        if at_start && let Some(length) = absolute_path(rest) {
            let (path, after) = rest.split_at(length);
            clean.push_str(last_part(path));
            rest = after;
            at_start = false;
            continue;
        }
        clean.push(next);
        rest = &rest[next.len_utf8()..];
        at_start = begins_word(next);
    }
    clean
}

/// One argument of a command line, cleaned; here a path may hold spaces, because it is a word of its
/// own.
pub(crate) fn scrub_argument(argument: &str) -> String {
    let (key, value) = argument
        .split_once('=')
        .map_or(("", argument), |(key, value)| (key, value));
    if value.starts_with('/') && !value.trim_matches('/').is_empty() {
        let separator = if key.is_empty() { "" } else { "=" };
        return format!("{}{separator}{}", scrub(key), last_part(value));
    }
    scrub(argument)
}

/// How long the absolute path is that stands at the beginning of `text`, if one does. A lone slash
/// or one before a space is no path (`attempts / s`), nor is a single short word behind one slash in
/// prose (`/s`), but both `/tmp` and `/home/ada` are.
fn absolute_path(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let drive = bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/');
    let root = bytes[0] == b'/' || text.starts_with("\\\\");
    if !drive && !root {
        return None;
    }
    let from = if drive { 2 } else { 0 };
    let end = text[from..]
        .find(ends_path)
        .map_or(text.len(), |end| from + end);
    let path = &text[..end];
    let name = last_part(path);
    let deep = path.trim_end_matches(['/', '\\']).len() > name.len() + 1;
    (name.len() > 1 || (deep && !name.is_empty())).then_some(end)
}

fn last_part(path: &str) -> &str {
    path.trim_end_matches(['/', '\\'])
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
}

fn begins_word(before: char) -> bool {
    before.is_whitespace() || matches!(before, '=' | ':' | ',' | ';' | '"' | '\'' | '(' | '[' | '@')
}

fn ends_path(next: char) -> bool {
    next.is_whitespace() || matches!(next, ',' | ';' | '"' | '\'' | ')' | ']')
}

#[cfg(test)]
mod tests {
    use super::{scrub, scrub_argument};

    #[test]
    fn an_argument_that_is_a_path_may_hold_spaces() {
        for (given, expected) in [
            ("/home/ada lovelace/my file.db", "my file.db"),
            (
                "--database=/home/ada lovelace/my file.db",
                "--database=my file.db",
            ),
            ("--store=sqlite:/tmp/x.db", "--store=sqlite:x.db"),
            ("--threshold=hold.p99<5ms", "--threshold=hold.p99<5ms"),
            ("=", "="),
        ] {
            assert_eq!(scrub_argument(given), expected, "{given}");
        }
    }

    #[test]
    fn absolute_paths_are_cut_to_their_last_part_wherever_they_stand() {
        for (given, expected) in [
            ("/usr/bin/stress", "stress"),
            ("--database=/home/ada/my.sqlite", "--database=my.sqlite"),
            ("sqlite:/tmp/a/b.sqlite", "sqlite:b.sqlite"),
            ("postgres://ada:secret@db.internal/seats", "postgres:seats"),
            ("file:///home/ada/x?mode=ro", "file:x?mode=ro"),
            ("['/a/b', '/c/d/']", "['b', 'd']"),
            (r"C:\Users\ada\x.db", "x.db"),
            (r"\\server\share\x.db", "x.db"),
            (
                "could not open /var/lib/x.db: no such file",
                "could not open x.db: no such file",
            ),
            ("/tmp", "tmp"),
        ] {
            assert_eq!(scrub(given), expected, "{given}");
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            "",
            "/",
            "1/s",
            "attempts / s",
            "hold/refused",
            "./runs/x",
            "../x",
            "ttl 10: H(s,A)",
            "ä/ö",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
