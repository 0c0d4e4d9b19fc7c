//! Records which compiler builds this crate, for which target and with which profile, so that an
//! evidence file can say it without a compiler on the machine that runs the program.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| "unknown".into());
    let rustc = Command::new(variable("RUSTC"))
        .arg("--version")
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".into(), |text| text.trim().to_owned());
    println!("cargo::rustc-env=EVIDENCE_RUSTC={rustc}");
    println!("cargo::rustc-env=EVIDENCE_PROFILE={}", variable("PROFILE"));
    println!(
        "cargo::rustc-env=EVIDENCE_OPT_LEVEL={}",
        variable("OPT_LEVEL")
    );
    println!("cargo::rustc-env=EVIDENCE_TARGET={}", variable("TARGET"));
}
