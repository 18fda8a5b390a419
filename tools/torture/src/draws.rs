//! The remaining amounts in a sale of red packets, computed from its outbox.

use std::collections::VecDeque;

/// The units by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    pub supply: u64,
    pub available: u64,
    pub held: u64,
    pub sold: u64,
}

#[derive(Clone, Debug)]
pub enum Draw {
    Packets { packets: u64, min: u64 },
    Equal { packets: u64 },
    List(Vec<u64>),
    Uniform { low: u64, high: u64 },
}

impl Draw {
    pub fn words(&self) -> String {
        match self {
            Draw::Packets { packets, min } => format!("DRAW PACKETS {packets} MIN {min}"),
            Draw::Equal { packets } => format!("DRAW EQUAL {packets}"),
            Draw::List(amounts) => {
                let amounts: Vec<String> = amounts.iter().map(u64::to_string).collect();
                format!("DRAW LIST {}", amounts.join(" "))
            }
            Draw::Uniform { low, high } => format!("DRAW UNIFORM {low} {high}"),
        }
    }
}

#[derive(Debug)]
pub struct Left {
    draw: Draw,
    packets: u64,
    /// DRAW LIST: the amounts in order.
    amounts: VecDeque<u64>,
}

impl Left {
    pub fn all(draw: &Draw) -> Left {
        let (packets, amounts) = match draw {
            Draw::Packets { packets, .. } | Draw::Equal { packets } => (*packets, VecDeque::new()),
            Draw::List(amounts) => (amounts.len() as u64, amounts.iter().copied().collect()),
            Draw::Uniform { .. } => (0, VecDeque::new()),
        };
        Left { draw: draw.clone(), packets, amounts }
    }

    /// A new grant takes an amount. False if it is impossible; `stock` is from before the grant.
    pub fn draw(&mut self, qty: u64, stock: Stock) -> bool {
        let (packets, available) = (self.packets, stock.available);
        let fits = match self.draw {
            Draw::Packets { .. } if packets == 1 => qty == available,
            Draw::Packets { min, .. } => {
                // At most twice the mean, and every later packet still gets its minimum.
                packets > 0 && qty >= min && qty <= min.max(2 * available / packets)
            }
            Draw::Equal { packets: all } => {
                [stock.supply / all, stock.supply.div_ceil(all)].contains(&qty)
            }
            Draw::List(_) => self.amounts.pop_front() == Some(qty),
            Draw::Uniform { low, high } => {
                qty > 0 && qty <= high && (qty >= low || qty == available)
            }
        };
        fits && self.take_packet()
    }

    /// An expired grant takes its own amount again.
    pub fn retake(&mut self, qty: u64) -> bool {
        if let Draw::List(_) = self.draw {
            let Some(place) = self.amounts.iter().rposition(|amount| *amount == qty) else {
                return false;
            };
            self.amounts.remove(place);
        }
        self.take_packet()
    }

    fn take_packet(&mut self) -> bool {
        if let Draw::Uniform { .. } = self.draw {
            return true;
        }
        self.packets = self.packets.wrapping_sub(1);
        self.packets != u64::MAX
    }

    /// A grant returns its amount and its packet.
    pub fn give_back(&mut self, qty: u64) {
        self.packets += 1;
        if let Draw::List(_) = self.draw {
            self.amounts.push_back(qty);
        }
    }

    /// Whether the remaining packets can use all available units within their bounds.
    pub fn shares(&self, available: u64) -> bool {
        match &self.draw {
            Draw::Uniform { .. } => true,
            _ if (self.packets == 0) != (available == 0) => false,
            Draw::Packets { min, .. } => self.packets * min <= available,
            Draw::Equal { .. } => self.packets <= available,
            Draw::List(_) => self.amounts.iter().sum::<u64>() == available,
        }
    }
}
