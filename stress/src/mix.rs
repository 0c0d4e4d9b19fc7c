//! What buyers do with a hold, and how often.

use std::fmt;

use crate::workload::Shape;

/// What a buyer does with the hold they got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Plan {
    /// Pays in time.
    Pay,
    /// Pays after the hold has ended.
    Late,
    /// Pays in time, and once more with a second payment.
    Double,
    /// Lets the hold lapse.
    Lapse,
    /// Gives the hold back.
    Release,
    /// Gives the hold back after it has ended.
    Quit,
    /// Releases and pays in time, but in somebody else's name.
    Stranger,
    /// Pays in time, and the same payment comes once more in somebody else's name.
    Renamed,
    /// Pays in time, but under the id of a payment that was made before.
    Reused,
    /// Pays for a hold that was never given.
    Forged,
    /// Pays for a seat that does not exist.
    Nowhere,
}

impl Plan {
    /// All plans, in the order of the help text.
    pub const ALL: [Self; 11] = [
        Self::Pay,
        Self::Late,
        Self::Double,
        Self::Lapse,
        Self::Release,
        Self::Quit,
        Self::Stranger,
        Self::Renamed,
        Self::Reused,
        Self::Forged,
        Self::Nowhere,
    ];

    /// Its name in `--mix`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pay => "pay",
            Self::Late => "late",
            Self::Double => "double",
            Self::Lapse => "lapse",
            Self::Release => "release",
            Self::Quit => "quit",
            Self::Stranger => "stranger",
            Self::Renamed => "renamed",
            Self::Reused => "reused",
            Self::Forged => "forged",
            Self::Nowhere => "nowhere",
        }
    }

    /// Whether the buyer acts only after the hold has ended.
    pub const fn waits_for_the_end(self) -> bool {
        matches!(self, Self::Late | Self::Quit)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How often each plan is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix([u32; Plan::ALL.len()]);

impl Mix {
    /// The documented default of a workload.
    pub const fn default_of(shape: Shape) -> Self {
        match shape {
            Shape::Rush | Shape::Uniform | Shape::Zipf => Self([70, 6, 2, 5, 8, 3, 2, 1, 1, 1, 1]),
            Shape::Churn => Self([0, 20, 0, 20, 45, 10, 2, 0, 1, 1, 1]),
        }
    }

    /// Reads `pay=50,late=25`. A plan that is not named keeps its weight.
    ///
    /// # Errors
    /// Says which part is wrong, and what is allowed.
    pub fn with(mut self, changes: &str) -> Result<Self, String> {
        for change in changes.split(',').map(str::trim) {
            let (name, weight) = change
                .split_once('=')
                .ok_or_else(|| format!("{change:?} is not of the form plan=weight"))?;
            let plan = Plan::ALL
                .into_iter()
                .find(|plan| plan.name() == name)
                .ok_or_else(|| {
                    format!(
                        "there is no plan {name:?}; there are {}",
                        Plan::ALL.map(Plan::name).join(", ")
                    )
                })?;
            self.0[plan as usize] = weight
                .parse()
                .ok()
                .filter(|weight| *weight <= 1_000_000)
                .ok_or_else(|| format!("the weight {weight:?} is not 0 to 1000000"))?;
        }
        if self.total() == 0 {
            return Err("all weights are 0".to_owned());
        }
        Ok(self)
    }

    /// The sum of all weights.
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Every plan with its weight.
    pub fn weights(&self) -> impl Iterator<Item = (Plan, u32)> {
        Plan::ALL.into_iter().zip(self.0)
    }

    /// The plan that a number below the total stands for.
    pub(crate) fn pick(&self, mut number: u32) -> Plan {
        for (plan, weight) in self.weights() {
            if number < weight {
                return plan;
            }
            number -= weight;
        }
        unreachable!("the number is below the total")
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> = self
            .weights()
            .filter(|(_, weight)| *weight > 0)
            .map(|(plan, weight)| format!("{plan}={weight}"))
            .collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_mix_leaves_the_other_weights() {
        let mix = Mix::default_of(Shape::Rush)
            .with("pay=5, late=0")
            .expect("valid");
        assert_eq!(
            mix.to_string(),
            "pay=5,double=2,lapse=5,release=8,quit=3,stranger=2,renamed=1,reused=1,forged=1,nowhere=1"
        );
    }

    #[test]
    fn a_bad_mix_is_refused_with_the_reason() {
        let default = || Mix::default_of(Shape::Rush);
        assert!(
            default()
                .with("pay")
                .expect_err("bad")
                .contains("plan=weight")
        );
        assert!(
            default()
                .with("fly=1")
                .expect_err("bad")
                .contains("pay, late")
        );
        assert!(
            default()
                .with("pay=-1")
                .expect_err("bad")
                .contains("0 to 1000000")
        );
        let none = Plan::ALL.map(|plan| format!("{plan}=0")).join(",");
        assert_eq!(default().with(&none), Err("all weights are 0".to_owned()));
    }

    #[test]
    fn a_plan_of_weight_zero_is_never_picked() {
        let mix = Mix::default_of(Shape::Churn);
        assert!((0..mix.total()).all(|number| mix.pick(number) != Plan::Pay));
        assert_eq!(mix.pick(0), Plan::Late);
        assert_eq!(mix.pick(mix.total() - 1), Plan::Nowhere);
    }

    #[test]
    fn the_default_weights_add_up_to_a_hundred() {
        for shape in [Shape::Rush, Shape::Churn, Shape::Uniform, Shape::Zipf] {
            assert_eq!(Mix::default_of(shape).total(), 100);
        }
    }
}
