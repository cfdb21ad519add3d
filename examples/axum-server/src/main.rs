//! A small shop by axum and tokio: customers look at items and order them, and a task delivers what was ordered.
//!
//! `axum-server [PORT]` listens on that port of 127.0.0.1, or on a free one, and prints which. INT and TERM end it. There is a marker at
//! each step of a request, and behind each of them a line of the log with the same words. So the log says what a tracer of the
//! markers must print.

mod shop;
mod worker;

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use simple_markers::simple_mark;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::shop::{Item, Order, Shop};

#[tokio::main]
async fn main() -> ExitCode {
    let Ok(port) = std::env::args().nth(1).map_or(Ok(0), |port| port.parse::<u16>()) else {
        eprintln!("usage: axum-server [PORT]");
        return ExitCode::from(2);
    };
    let (jobs, queue) = mpsc::channel(64);
    let shop = Arc::new(Shop::new(jobs));
    let worker = tokio::spawn(worker::deliver(Arc::downgrade(&shop), queue));
    let router = Router::new()
        .route("/items", get(search))
        .route("/items/{id}", get(item))
        .route("/orders", post(order))
        .route("/orders/{id}", get(status))
        .layer(middleware::from_fn(log_request))
        .with_state(shop);
    let (Ok(listener), Ok(mut terminate)) =
        (TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await, signal(SignalKind::terminate()))
    else {
        eprintln!("axum-server: cannot listen on port {port}");
        return ExitCode::FAILURE;
    };
    println!("listening on {}", listener.local_addr().map_or(port, |address| address.port()));
    let end = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    let served = axum::serve(listener, router).with_graceful_shutdown(end).await;
    // The shop is gone with the router, and so is the sender of the worker's queue.
    let delivered = worker.await.unwrap_or(0);
    println!("{delivered} orders delivered");
    if served.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Surrounds each request.
async fn log_request(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let path = request.uri().path().to_owned();
    simple_mark!(http:request, "%s", path);
    println!("http:request {path}");
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let elapsed = started.elapsed().as_micros() as u64;
    simple_mark!(http:response, "%s: %hu after %lu us", path, status, elapsed);
    println!("http:response {path}: {status} after {elapsed} us");
    response
}

async fn item(State(shop): State<Arc<Shop>>, Path(id): Path<u64>) -> Result<Json<Item>, StatusCode> {
    let Some(item) = shop.item(id).await else {
        simple_mark!(item:missing, "item %lu", id);
        println!("item:missing item {id}");
        return Err(StatusCode::NOT_FOUND);
    };
    let left = item.left;
    simple_mark!(item:show, "item %lu has %u left", id, left);
    println!("item:show item {id} has {left} left");
    Ok(Json(item))
}

#[derive(Deserialize)]
struct Search {
    prefix: String,
    limit: Option<usize>,
}

async fn search(State(shop): State<Arc<Shop>>, Query(search): Query<Search>) -> Json<Vec<Item>> {
    let limit = search.limit.unwrap_or(10);
    let found = shop.search(&search.prefix, limit).await;
    let count = found.len();
    simple_mark!(item:search, "%zu of at most %zu begin with %s", count, limit, search.prefix);
    println!("item:search {count} of at most {limit} begin with {}", search.prefix);
    Json(found)
}

#[derive(Deserialize)]
struct Wish {
    customer: String,
    item: u64,
    quantity: u32,
}

async fn order(State(shop): State<Arc<Shop>>, Json(wish): Json<Wish>) -> Result<Json<Order>, (StatusCode, String)> {
    let Wish { customer, item, quantity } = wish;
    simple_mark!(order:receive, "%s orders %u of item %lu", customer, quantity, item);
    println!("order:receive {customer} orders {quantity} of item {item}");
    let taken = shop.take(item, quantity).await;
    let price = match taken {
        Ok(price) => price,
        Err(left) => {
            simple_mark!(order:refuse, "item %lu: %u wanted, %u left", item, quantity, left);
            println!("order:refuse item {item}: {quantity} wanted, {left} left");
            return Err((StatusCode::CONFLICT, format!("{left} left")));
        }
    };
    let total = price * u64::from(quantity);
    let order = shop.enqueue(customer, item, quantity, total).await;
    let id = order.id;
    simple_mark!(order:accept, "order %lu for %lu cents", id, total);
    println!("order:accept order {id} for {total} cents");
    Ok(Json(order))
}

async fn status(State(shop): State<Arc<Shop>>, Path(id): Path<u64>) -> Result<Json<Order>, StatusCode> {
    let Some(order) = shop.order(id).await else { return Err(StatusCode::NOT_FOUND) };
    let delivered = order.delivered;
    simple_mark!(order:poll, "order %lu, delivered: %d", id, delivered);
    println!("order:poll order {id}, delivered: {}", u8::from(delivered));
    Ok(Json(order))
}
