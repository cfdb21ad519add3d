//! What is in stock and what was ordered.

use serde::Serialize;
use simple_markers::simple_mark;
use tokio::sync::{Mutex, mpsc};

#[derive(Clone, Serialize)]
pub(crate) struct Item {
    id: u64,
    name: String,
    cents: u64,
    pub(crate) left: u32,
}

#[derive(Clone, Serialize)]
pub(crate) struct Order {
    pub(crate) id: u64,
    customer: String,
    item: u64,
    pub(crate) quantity: u32,
    cents: u64,
    pub(crate) delivered: bool,
}

pub(crate) struct Shop {
    items: Mutex<Vec<Item>>,
    orders: Mutex<Vec<Order>>,
    jobs: mpsc::Sender<u64>,
}

impl Shop {
    /// Twenty items. The more expensive ones are rare.
    pub(crate) fn new(jobs: mpsc::Sender<u64>) -> Self {
        let names = ["apple", "apricot", "basil", "bean", "carrot"];
        let item = |id: u64| Item {
            id,
            name: format!("{} {id}", names[id as usize % names.len()]),
            cents: 90 + id * 35,
            left: 40 / (id as u32 + 1),
        };
        Self { items: Mutex::new((0..20).map(item).collect()), orders: Mutex::default(), jobs }
    }

    pub(crate) async fn item(&self, id: u64) -> Option<Item> {
        self.items.lock().await.iter().find(|item| item.id == id).cloned()
    }

    pub(crate) async fn search(&self, prefix: &str, limit: usize) -> Vec<Item> {
        let items = self.items.lock().await;
        items.iter().filter(|item| item.name.starts_with(prefix)).take(limit).cloned().collect()
    }

    /// Takes items from the stock: the price of one, or how many are left if these are too few.
    pub(crate) async fn take(&self, id: u64, quantity: u32) -> Result<u64, u32> {
        let mut items = self.items.lock().await;
        let Some(item) = items.iter_mut().find(|item| item.id == id) else { return Err(0) };
        item.left = item.left.checked_sub(quantity).ok_or(item.left)?;
        simple_mark!(stock:take, "%u of item %lu, now %u", quantity, id, item.left);
        println!("stock:take {quantity} of item {id}, now {}", item.left);
        Ok(item.cents)
    }

    pub(crate) async fn enqueue(&self, customer: String, item: u64, quantity: u32, cents: u64) -> Order {
        let order = {
            let mut orders = self.orders.lock().await;
            let id = orders.len() as u64;
            let order = Order { id, customer, item, quantity, cents, delivered: false };
            orders.push(order.clone());
            order
        };
        // The worker ends after the last sender.
        let _ = self.jobs.send(order.id).await;
        order
    }

    pub(crate) async fn order(&self, id: u64) -> Option<Order> {
        self.orders.lock().await.get(usize::try_from(id).ok()?).cloned()
    }

    pub(crate) async fn deliver(&self, id: u64) {
        if let Some(order) = self.orders.lock().await.get_mut(id as usize) {
            order.delivered = true;
        }
    }
}
