//! Makes plans: of resolutions, and of plan files for this machine.

mod adopt;
mod entry;
mod make;
mod recorded;
mod task;

pub use make::{PlanSettings, ValueBudget};
