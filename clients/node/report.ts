import { readFileSync } from "node:fs";
import { encodeIntoCompressedBase64 } from "hdr-histogram-js";
import { type Config, CONTRACT_VERSION } from "./config.ts";
import { identity } from "./identity.ts";
import type { Load } from "./load.ts";
import { toSeconds } from "./schedule.ts";
import type { Counts } from "./tally.ts";

/** The report of the client contract; every key that it names, no other. */
export function createReport(config: Config, load: Load): object {
  const { tally, windowCpu } = load;
  const { isOpen } = load.schedule;
  const total = tally.total();
  const kinds = Object.fromEntries([...tally.kinds].map(([name, counts]) => [name, kindReport(counts, isOpen)]));
  const times = histograms(total, isOpen);
  const cpu = process.cpuUsage();
  return {
    contract: CONTRACT_VERSION,
    client: identity(config.target.borrowed ?? []),
    started_unix_s: load.startedUnixS,
    warmup_s: config.warmupS,
    window_s: config.windowS,
    drained_s: load.drainedS,
    attempted: total.attempted,
    acknowledged: total.acknowledged,
    retried: tally.retried,
    in_doubt: total.inDoubt,
    failed: total.failed,
    first_error: tally.firstError,
    lost_connections: tally.lostConnections,
    window: {
      acknowledged: total.windowAcknowledged,
      goodput_per_s: total.windowAcknowledged / config.windowS,
      completed: total.windowCompleted,
      mean_in_flight: toSeconds(tally.windowOutNs) / config.windowS,
      mean_service_time_s:
        total.windowCompleted === 0 ? null : toSeconds(tally.windowServiceNs) / total.windowCompleted,
      cpu_user_s: windowCpu.user / 1e6,
      cpu_system_s: windowCpu.system / 1e6,
    },
    connections: load.connections.map(({ number, issued, failed, inDoubt, retried }) => ({
      connection: number,
      issued,
      failed,
      in_doubt: inDoubt,
      retried,
    })),
    per_second: tally.perSecond,
    per_100ms: tally.per100ms,
    ...times,
    kinds,
    cpu_user_s: cpu.user / 1e6,
    cpu_system_s: cpu.system / 1e6,
    ...(config.target.engine && { engine: config.target.engine() }),
    ...(config.target.agreed && { agreed: config.target.agreed() }),
    peak_memory_bytes: peakMemoryBytes(),
  };
}

function kindReport(counts: Counts, isOpen: boolean): object {
  return {
    attempted: counts.attempted,
    acknowledged: counts.acknowledged,
    failed: counts.failed,
    in_doubt: counts.inDoubt,
    window: { acknowledged: counts.windowAcknowledged, completed: counts.windowCompleted },
    ...histograms(counts, isOpen),
  };
}

/** In the closed loop service time and response time are the same. */
function histograms({ serviceTime, responseTime }: Counts, isOpen: boolean): object {
  const service = encodeIntoCompressedBase64(serviceTime);
  return {
    service_time_ns: service,
    response_time_ns: isOpen ? encodeIntoCompressedBase64(responseTime) : service,
  };
}

/** getrusage would count what the process that started this one held when it did; only Linux tells them apart. */
function peakMemoryBytes(): number {
  try {
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    if (kibibytes !== undefined) return Number(kibibytes) * 1024;
  } catch {
    // No Linux: the other count is the only one.
  }
  return process.resourceUsage().maxRSS * 1024;
}
