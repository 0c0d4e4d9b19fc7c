//! The JSON schema of an evidence file, made from the types.
//!
//! It lies in `evidence/schema/evidence-v1.schema.json` for programs in other languages. A schema
//! can say which fields there are and of which form; whether they agree, only verify can say.

use crate::statement::Statement;

/// The schema (JSON Schema, draft 2020-12), as text that ends in a line feed.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Statement);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}
