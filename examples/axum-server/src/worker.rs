//! The task that delivers orders, and tries again where that fails.

use std::sync::Weak;
use std::time::Duration;

use simple_markers::simple_mark;
use tokio::sync::mpsc::Receiver;
use tokio::time::sleep;

use crate::shop::Shop;

/// Delivers until nobody can order any more: how many orders that were.
pub(crate) async fn deliver(shop: Weak<Shop>, mut queue: Receiver<u64>) -> u64 {
    let mut delivered = 0;
    while let Some(id) = queue.recv().await {
        let Some(shop) = shop.upgrade() else { break };
        let quantity = shop.order(id).await.map_or(0, |order| order.quantity);
        simple_mark!(worker:take, "order %lu of %u", id, quantity);
        println!("worker:take order {id} of {quantity}");
        let mut attempt = 1;
        while let Err(reason) = ship(id, attempt).await {
            simple_mark!(worker:retry, "order %lu, attempt %u: %s", id, attempt, reason);
            println!("worker:retry order {id}, attempt {attempt}: {reason}");
            sleep(Duration::from_millis(u64::from(attempt))).await;
            attempt += 1;
        }
        shop.deliver(id).await;
        delivered += 1;
        simple_mark!(worker:done, "order %lu after %u attempts, %lu in all", id, attempt, delivered);
        println!("worker:done order {id} after {attempt} attempts, {delivered} in all");
    }
    delivered
}

/// Every third order fails, and every sixth one fails twice.
async fn ship(id: u64, attempt: u32) -> Result<(), &'static str> {
    sleep(Duration::from_micros(200)).await;
    match (id % 6, attempt) {
        (3, 1) | (0, 1) => Err("no driver"),
        (0, 2) => Err("wrong address"),
        _ => Ok(()),
    }
}
