import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { SlotAdmission } from '../../../daemon/inference/admission.ts'
import { engineMetrics } from '../../../daemon/inference/engine-metrics.ts'
import { JobMetrics } from '../../../daemon/inference/job-metrics.ts'
import { Jobs, type JobWork } from '../../../daemon/inference/jobs.ts'
import { cellMetrics } from '../../../daemon/metrics/cell-metrics.ts'
import { prometheusText } from '../../../daemon/metrics/prometheus-text.ts'
import { withMetrics } from '../../../daemon/metrics/with-metrics.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { Histogram } from '../../../shared/metrics/histogram.ts'
import { type Metric, toMetricValues } from '../../../shared/metrics/metric.ts'
import type { EngineReport } from '../../../shared/wire/telemetry.ts'

t.test('the text is in the Prometheus format', async t => {
  const histogram = new Histogram([1])
  histogram.observe(0.5)
  const metrics: Metric[] = [
    {
      name: 'a_total',
      type: 'counter',
      help: 'A \\ and\na line.',
      labels: ['path'],
      read: () => [
        { labels: { path: 'C:\\"x"\ny', other: '' }, value: 1.5 },
        { labels: {}, value: Number.POSITIVE_INFINITY },
      ],
    },
    {
      name: 'b_seconds',
      type: 'histogram',
      help: 'B.',
      labels: [],
      read: () => toMetricValues({}, histogram),
    },
    { name: 'c', type: 'gauge', help: 'C.', labels: [], read: () => [] },
  ]
  t.equal(
    prometheusText(metrics),
    [
      '# HELP a_total A \\\\ and\\na line.',
      '# TYPE a_total counter',
      'a_total{path="C:\\\\\\"x\\"\\ny",other=""} 1.5',
      'a_total +Inf',
      '# HELP b_seconds B.',
      '# TYPE b_seconds histogram',
      'b_seconds_bucket{le="1"} 1',
      'b_seconds_bucket{le="+Inf"} 1',
      'b_seconds_sum 0.5',
      'b_seconds_count 1',
      '# HELP c C.',
      '# TYPE c gauge',
      '',
    ].join('\n'),
  )
})

const WORK: JobWork = {
  type: 'chat',
  messages: [],
  contextLength: 10,
  sampling: {
    temperature: 0,
    topP: 1,
    seed: 0,
    stop: [],
    frequencyPenalty: 0,
    presencePenalty: 0,
    logitBias: [],
  },
}

/** The jobs of an engine with one slot, on a clock that the test moves. */
const oneSlot = () => {
  const clock = { ms: 0 }
  const metrics = new JobMetrics()
  const limits = { slots: 1, queue: 1, queueBytes: 1000, queueTimeoutSeconds: 10 }
  const timers: (() => void)[] = []
  const admission = new SlotAdmission(limits, {
    now: () => clock.ms,
    callAfter: (_ms, run) => {
      timers.push(run)
      return () => {}
    },
  })
  const jobs = new Jobs(admission, metrics, () => clock.ms)
  jobs.attach({ send: () => {}, finish: () => {} })
  admission.open()
  const ends = () =>
    Object.fromEntries(metrics.ends.read(['end']).map(each => [each.labels.end, each.value]))
  return { clock, metrics, jobs, timers, ends }
}

const start = { type: 'start', promptTokens: 7, cachedTokens: 4, maxTokens: 5 } as const
const end = { type: 'end', reason: 'stop', completionTokens: 2 } as const

t.test(
  'engine requests are timed from the request to the first and between all pieces',
  async t => {
    const { clock, metrics, jobs, ends } = oneSlot()
    jobs.submit(WORK, 0, () => {})
    jobs.submit(WORK, 0, () => {})
    clock.ms = 40
    jobs.handle([
      { ...start, job: 1 },
      { type: 'text', job: 1, text: 'a' },
    ])
    clock.ms = 52
    jobs.handle([{ type: 'text', job: 1, text: 'b' }])
    clock.ms = 60
    jobs.handle([{ ...end, job: 1 }])
    clock.ms = 100
    jobs.handle([
      { ...start, job: 2, cachedTokens: 0 },
      { type: 'text', job: 2, text: 'a' },
      { ...end, job: 2, reason: 'length' },
    ])
    t.match(metrics.queueSeconds, { count: 2, sum: 0.06 }, 'the second waited for the slot')
    t.equal(metrics.firstTokenSeconds.count, 2)
    t.equal(metrics.firstTokenSeconds.sum.toFixed(3), '0.140')
    t.equal(metrics.interTokenSeconds.count, 1)
    t.equal(metrics.interTokenSeconds.sum.toFixed(3), '0.012')
    t.match(metrics, { prompts: 2, promptTokens: 14, cachedTokens: 4, prefixHits: 1 })
    t.equal(metrics.completionTokens, 4)
    t.strictSame(ends(), { stop: 1, length: 1 })
  },
)

t.test('requests are counted by outcome', async t => {
  const { jobs, timers, ends } = oneSlot()
  const cancel = jobs.submit(WORK, 0, () => {})
  jobs.submit(WORK, 0, () => {})
  t.throws(() => jobs.submit(WORK, 0, () => {}), { code: 'cell_unavailable' })
  timers[0]?.()
  t.strictSame(ends(), { turned_away: 2 })
  cancel()
  jobs.handle([{ ...end, job: 1, reason: 'cancelled' }])
  jobs.submit(WORK, 0, () => {})
  jobs.handle([{ type: 'refused', job: 2, code: 'invalid_request', message: '', param: undefined }])
  jobs.submit(WORK, 0, () => {})
  jobs.handle([{ type: 'vectors', job: 3, vectors: [], promptTokens: 3 }])
  jobs.submit(WORK, 0, () => {})
  jobs.drop(new ShoalError('cell_unavailable', 'gone'))
  t.strictSame(ends(), { turned_away: 2, cancelled: 1, refused: 1, stop: 1, failed: 1 })
})

const report: EngineReport = {
  weights: 'm.gguf',
  kind: 'chat',
  models: ['m'],
  state: 'ready',
  slots: 4,
  slots_busy: 2,
  queued: 1,
  context_length: 10,
  restarts: 3,
}

t.test('a cell reports metrics of its engines, its GPUs and itself', async t => {
  const engine = {
    report: () => report,
    metrics: new JobMetrics(),
    counts: { steps: 10, width: 35, active: 40, tokens: 60 },
  }
  const gpu = {
    index: 0,
    id: 'GPU-1',
    utilization_percent: 50,
    vram_total_bytes: 1000,
    vram_used_bytes: 250,
    temperature_celsius: null,
    power_watts: null,
    clock_mhz: null,
    unified_memory: false,
  }
  const text = prometheusText(
    cellMetrics({ metrics: () => engineMetrics([engine]) }, { sample: () => ({ gpus: [gpu] }) }),
  )
  for (const line of [
    'shoal_engine_ready{weights="m.gguf",kind="chat"} 1',
    'shoal_engine_slots{weights="m.gguf",kind="chat"} 4',
    'shoal_engine_slots_busy{weights="m.gguf",kind="chat"} 2',
    'shoal_engine_queued{weights="m.gguf",kind="chat"} 1',
    'shoal_engine_step_width_total{weights="m.gguf",kind="chat"} 35',
    'shoal_gpu_memory_used_bytes{gpu="0",id="GPU-1"} 250',
  ])
    t.ok(text.includes(`\n${line}\n`), line)
  t.notMatch(text, /temperature_celsius\{/, 'what is not known has no value')
  t.match(text, /process_resident_memory_bytes \d{6,}/)
  t.equal(
    engineMetrics([engine]).every(metric => metric.name.startsWith('shoal_engine_')),
    true,
  )
})

t.test('only GET /metrics returns metrics; other requests are passed on', async t => {
  const up: Metric = {
    name: 'up',
    type: 'gauge',
    help: 'Up.',
    labels: [],
    read: () => [{ labels: {}, value: 1 }],
  }
  const handle = withMetrics(
    () => [up],
    (_request, response) => void response.end('on'),
  )
  const server = createServer(handle).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const ask = async (path: string, method = 'GET') =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { method })).text()
  t.equal(await ask('/metrics?x'), '# HELP up Up.\n# TYPE up gauge\nup 1\n')
  t.equal(await ask('/metrics', 'POST'), 'on')
  t.equal(await ask('/v1/models'), 'on')
})
