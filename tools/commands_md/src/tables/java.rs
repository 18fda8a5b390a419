//! `Outcome.java`, `State.java` and `Tables.java` of `clients/java`.

use super::{all, quoted, Tables};

pub fn outcomes(tables: &Tables) -> String {
    let mut text = format!(
        "{HEAD}/**\n * The first word of a reply, with the names of its other fields in \
         {{@link Answer}}. Those of\n \
         * GRAB come first; the others are a grant's states, which CONFIRM, CANCEL, EXTEND and \
         REFUND reply.\n */\npublic enum Outcome {{\n"
    );
    let all = all(tables, &tables.settled[1..]).map(|(word, fields, says)| match fields {
        [] => documented(word, says),
        fields => documented(&format!("{word}({})", quoted(fields, "\"")), says),
    });
    text.push_str(&all.collect::<Vec<_>>().join(",\n"));
    text.push_str(
        ";\n\n    final String[] fields;\n\n    Outcome(String... fields) {\n        \
         this.fields = fields;\n    }\n}\n",
    );
    text
}

pub fn states() -> String {
    let states = super::states().map(|(word, says)| documented(word, says));
    format!(
        "{HEAD}/** The state of a grant. The user has its units if the state is HELD or SOLD. \
         */\n\
         public enum State {{\n{}\n}}\n",
        states.collect::<Vec<_>>().join(",\n")
    )
}

fn documented(constant: &str, says: &str) -> String {
    format!("    /** {} */\n    {constant}", says.replace('`', ""))
}

pub fn tables(tables: &Tables) -> String {
    let list = |words: &[String]| {
        let lines: Vec<_> = words.iter().map(|word| format!("            \"{word}\"")).collect();
        lines.join(",\n")
    };
    format!(
        "{HEAD}import java.util.List;\nimport java.util.Set;\n\nfinal class Tables {{\n    \
         private Tables() {{}}\n\n    \
         /** Names of the elements of a row in USER and WINNERS. */\n    \
         static final List<String> ROW = List.of(\n{});\n    \
         /** First words of errors that a retry can't avoid. */\n    \
         static final Set<String> MISTAKES = Set.of(\n{});\n}}\n",
        list(&tables.row),
        list(&tables.mistakes)
    )
}

const HEAD: &str = "\
// Written from the module's own tables by `make docs`: change those, not this file.
package example.seckill;

";
