//! A machine that is nothing but a schedule: each transfer's times follow from those before it.
//!
//! A lane is free when the schedule says so, not when somebody woke up, so a saturated machine's capacity does not
//! depend on how late the timer fires.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use gap_delay::Nanoseconds;

use crate::knobs::Knobs;

pub struct Machine {
    began: Nanoseconds,
    /// When each lane is free, since the beginning.
    lanes: BinaryHeap<Reverse<Nanoseconds>>,
    lock_free: Nanoseconds,
    service: Nanoseconds,
    round_trip: Nanoseconds,
    commit_timer: Nanoseconds,
    lock: Nanoseconds,
    stall: Nanoseconds,
    stall_every: Nanoseconds,
    hot: Option<f64>,
    admitted: u64,
}

impl Machine {
    /// All times of the knobs are multiplied by `time_factor`.
    pub fn new(knobs: &Knobs, time_factor: f64, began: Nanoseconds) -> Self {
        let time = |knob_us: f64| (knob_us * 1000.0 * time_factor).round() as Nanoseconds;
        Self {
            began,
            lanes: std::iter::repeat_n(Reverse(0), knobs.lanes).collect(),
            lock_free: 0,
            service: time(knobs.service_us),
            round_trip: time(knobs.round_trip_us),
            commit_timer: time(knobs.commit_timer_us),
            lock: time(knobs.lock_us),
            stall: time(knobs.stall_us),
            stall_every: time(knobs.stall_every_us),
            hot: knobs.hot,
            admitted: 0,
        }
    }

    /// When the answer to an operation that arrives now is due; arrivals come in order.
    pub fn admit(&mut self, arrival: Nanoseconds, touches_hot_row: bool) -> Nanoseconds {
        let Reverse(lane_free) = self.lanes.pop().unwrap_or_default();
        let mut end = self.work(arrival.saturating_sub(self.began).max(lane_free), self.service);
        self.lanes.push(Reverse(end));
        let needs_lock = self.hot.map_or(touches_hot_row, |share| is_hot(self.admitted, share));
        self.admitted += 1;
        if needs_lock {
            end = self.work(end.max(self.lock_free), self.lock);
            self.lock_free = end;
        }
        if self.commit_timer > 0 {
            end = end.div_ceil(self.commit_timer) * self.commit_timer;
        }
        self.began + end + self.round_trip
    }

    /// When work that starts then is done; the machine stands still at the end of every stall period.
    fn work(&self, start: Nanoseconds, work: Nanoseconds) -> Nanoseconds {
        if work == 0 || self.stall == 0 {
            return start + work;
        }
        let active = self.stall_every - self.stall;
        let worked = start / self.stall_every * active + (start % self.stall_every).min(active) + work;
        let periods = (worked - 1) / active;
        periods * self.stall_every + (worked - periods * active)
    }
}

/// Spreads a share evenly over the transfers, by their number.
fn is_hot(number: u64, share: f64) -> bool {
    ((number + 1) as f64 * share).floor() > (number as f64 * share).floor()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const US: Nanoseconds = 1000;

    fn machine(knobs: &str) -> Machine {
        Machine::new(&Knobs::parse(knobs).unwrap(), 1.0, 0)
    }

    #[test]
    fn a_lane_serves_one_after_the_other() {
        let mut one = machine("plant service_us=100 round_trip_us=400");
        assert_eq!([0, 0, 50, 1000].map(|at| one.admit(at * US, false) / US), [500, 600, 700, 1500]);
        let mut two = machine("plant service_us=100 lanes=2");
        assert_eq!([0, 0, 0, 50].map(|at| two.admit(at * US, false) / US), [100, 100, 200, 200]);
    }

    #[test]
    fn late_arrivals_at_a_busy_lane_cost_nothing() {
        let mut punctual = machine("plant service_us=100");
        let mut late = machine("plant service_us=100");
        for number in 0..100 {
            let expected = punctual.admit(0, false);
            assert_eq!(late.admit(number * 99 * US, false), expected);
        }
    }

    #[test]
    fn commits_wait_for_the_timer() {
        let mut timed = machine("plant service_us=100 commit_timer_us=500 round_trip_us=7");
        assert_eq!([0, 0, 300, 500].map(|at| timed.admit(at * US, false) / US), [507, 507, 507, 1007]);
    }

    #[test]
    fn only_hot_transfers_wait_for_the_lock() {
        let mut locked = machine("plant service_us=10 lock_us=200");
        let due = [true, false, true].map(|hot| locked.admit(0, hot) / US);
        assert_eq!(due, [210, 20, 410]);
        let mut planted = machine("plant lock_us=200 hot=0.5");
        let due = [true, true, true, true].map(|hot| planted.admit(0, hot) / US);
        assert_eq!(due, [0, 200, 0, 400]);
    }

    #[test]
    fn nothing_proceeds_in_a_stall() {
        let mut stalling = machine("plant service_us=100 stall_us=200 stall_every_us=1000");
        assert_eq!([0, 750, 900].map(|at| stalling.admit(at * US, false) / US), [100, 1050, 1150]);
        // 8 of every 10 ms are left: 8000 transfers of 100 us take 1000 periods.
        let mut saturated = machine("plant service_us=100 stall_us=2000 stall_every_us=10000");
        let last = (0..80_000).map(|_| saturated.admit(0, false)).last();
        assert_eq!(last, Some(9_998_000 * US));
    }

    #[test]
    fn noise_stretches_every_time() {
        let knobs = Knobs::parse("plant service_us=100 round_trip_us=400 commit_timer_us=500").unwrap();
        let mut slow = Machine::new(&knobs, 1.5, 5000 * US);
        assert_eq!(slow.admit(5000 * US, false) / US, 5000 + 750 + 600);
    }
}
