import { monitorEventLoopDelay } from 'node:perf_hooks'

/* Loaded into a measured process beside its own code: tells its event loop delay each second. */

const histogram = monitorEventLoopDelay({ resolution: 10 })
histogram.enable()
setInterval(() => {
  const [p99, max] = [histogram.percentile(99) / 1e6, histogram.max / 1e6]
  process.stdout.write(`${JSON.stringify({ msg: 'loop delay', p99, max })}\n`)
  histogram.reset()
}, 1000).unref()
