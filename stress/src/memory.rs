//! How much memory the process has.

/// The most memory that the process has had in store at once, in bytes. `None` where the system
/// does not tell (anything but Linux).
pub fn peak_bytes() -> Option<u64> {
    field("VmHWM:")
}

fn field(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_peak_grows_with_what_is_used_and_does_not_fall() {
        let before = peak_bytes().expect("Linux tells");
        let much = vec![1_u8; usize::try_from(before).expect("it fits in memory") + (8 << 20)];
        assert!(much.contains(&1));
        drop(much);
        assert!(peak_bytes().expect("Linux tells") > before);
    }
}
