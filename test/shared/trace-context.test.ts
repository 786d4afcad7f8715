import t from 'tap'
import { traceContextOf, traceHeaders } from '../../shared/tracing/trace-context.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

t.test('a traceparent is parsed as W3C Trace Context defines it', async t => {
  for (const [traceparent, flags] of [
    [`00-${TRACE}-${SPAN}-01`, 1],
    [`00-${TRACE}-${SPAN}-00`, 0],
    [`00-${TRACE}-${SPAN}-03`, 1],
    [`01-${TRACE}-${SPAN}-01-what-comes-later`, 1],
  ] as const) {
    const context = traceContextOf({ traceparent })
    t.match(context, { traceId: TRACE, spanId: SPAN, traceFlags: flags }, traceparent)
    t.strictSame(traceHeaders(context), { traceparent })
  }
})

t.test('an invalid traceparent is dropped together with its tracestate', async t => {
  for (const traceparent of [
    '',
    'x',
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}`,
  ])
    t.strictSame(traceHeaders(traceContextOf({ traceparent, tracestate: 'a=b' })), {}, traceparent)
})

t.test('a tracestate is passed on unless it is too long', async t => {
  const traceparent = `00-${TRACE}-${SPAN}-01`
  const forwardState = (tracestate: string) =>
    traceHeaders(traceContextOf({ traceparent, tracestate }))
  t.strictSame(forwardState('a=b'), { traceparent, tracestate: 'a=b' })
  t.strictSame(forwardState('a'.repeat(513)), { traceparent })
})
