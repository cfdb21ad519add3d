//! Makes plans: of resolutions, and of plan files for this machine.

mod adopt;
mod entry;
mod make;

pub use make::{PlanSettings, ValueBudget};
