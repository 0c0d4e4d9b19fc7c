//! temp
mod common;
#[test]
fn t() {
    let b = common::kept();
    let s = evidence::verify_bytes(&b).unwrap();
    let t = std::time::Instant::now();
    for _ in 0..200 {
        evidence::verify_bytes(&b).unwrap();
    }
    println!("verify {:?}", t.elapsed() / 200);
    let t = std::time::Instant::now();
    for _ in 0..200 {
        s.to_json();
    }
    println!("render {:?}", t.elapsed() / 200);
    let t = std::time::Instant::now();
    for _ in 0..200 {
        s.digest();
    }
    println!("digest {:?}", t.elapsed() / 200);
    let t = std::time::Instant::now();
    for _ in 0..200 {
        s.predicate.results.histograms[0].decode().unwrap();
    }
    println!("hdr {:?}", t.elapsed() / 200);
    let t = std::time::Instant::now();
    for _ in 0..200 {
        serde_json::from_slice::<serde_json::Value>(&b).unwrap();
    }
    println!("value {:?}", t.elapsed() / 200);
    let t = std::time::Instant::now();
    for _ in 0..200 {
        serde_json::from_slice::<evidence::Statement>(&b).unwrap();
    }
    println!("typed {:?}", t.elapsed() / 200);
}
