//! Which payments of one client may still be named: the others can be forgotten by whoever remembers them.

use std::collections::HashMap;

use crate::names::PaymentKey;

/// The payments that a call of this client may still name, and how many calls are due or made that do.
/// What is in it is bounded by what is due, and by payments that get no answer.
#[derive(Debug, Default)]
pub(super) struct Uses {
    of: HashMap<PaymentKey, Use>,
    /// The one decided last: a later buyer may try to pay with it again.
    last: Option<PaymentKey>,
}

#[derive(Debug, Default)]
struct Use {
    calls: u32,
    decided: bool,
}

impl Uses {
    /// A call that names this payment is put off.
    pub(super) fn begin(&mut self, payment: PaymentKey) {
        self.of.entry(payment).or_default().calls += 1;
    }

    /// An answer said what was decided about it. What is given back is another payment that no call will
    /// name any more.
    pub(super) fn decided(&mut self, payment: PaymentKey) -> Option<PaymentKey> {
        self.of.entry(payment).or_default().decided = true;
        let before = self.last.replace(payment);
        self.over(before?)
    }

    /// A call that names this payment was made, and what follows from its answer is put off. Gives the
    /// payment back when no call will name it any more.
    pub(super) fn end(&mut self, payment: PaymentKey) -> Option<PaymentKey> {
        if let Some(of) = self.of.get_mut(&payment) {
            of.calls -= 1;
        }
        self.over(payment)
    }

    /// The payment decided last.
    pub(super) const fn last(&self) -> Option<PaymentKey> {
        self.last
    }

    fn over(&mut self, payment: PaymentKey) -> Option<PaymentKey> {
        let of = self.of.get(&payment)?;
        let is_over = of.calls == 0 && of.decided && self.last != Some(payment);
        is_over.then(|| self.of.remove(&payment)).flatten()?;
        Some(payment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::BuyerKey;

    fn payment(number: u64) -> PaymentKey {
        PaymentKey {
            buyer: BuyerKey { client: 0, number },
            second: false,
        }
    }

    #[test]
    fn a_payment_is_over_when_it_was_decided_its_calls_were_made_and_another_was_decided_after_it()
    {
        let mut uses = Uses::default();
        let [first, second] = [payment(1), payment(2)];
        uses.begin(first);
        uses.begin(first);
        assert_eq!(uses.decided(first), None);
        assert_eq!(uses.end(first), None, "it is due once more");
        assert_eq!(uses.end(first), None, "it may be paid with again");
        uses.begin(second);
        assert_eq!(uses.last(), Some(first));
        assert_eq!(uses.decided(second), Some(first));
        assert_eq!(uses.end(second), None);
        assert_eq!(uses.of.len(), 1);
    }

    #[test]
    fn a_payment_without_an_answer_is_never_over() {
        let mut uses = Uses::default();
        uses.begin(payment(1));
        assert_eq!(uses.end(payment(1)), None);
        uses.begin(payment(2));
        uses.decided(payment(2));
        assert_eq!(uses.end(payment(2)), None);
        assert_eq!(uses.of.len(), 2);
    }
}
