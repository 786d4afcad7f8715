import type { Metric } from '../../shared/metrics/metric.ts'
import { CELL_METRICS_PATH } from '../../shared/wire/link.ts'
import type { Handle } from '../services/link.ts'
import { PROMETHEUS_TYPE, prometheusText } from './prometheus-text.ts'

/** Answers `GET /metrics` on the link and on loopback, and passes other requests to the engines. */
export const withMetrics =
  (metrics: () => readonly Metric[], handle: Handle): Handle =>
  (request, response) => {
    const isAsked = request.url?.split('?', 1)[0] === CELL_METRICS_PATH
    if (!isAsked || request.method !== 'GET') return handle(request, response)
    request.resume()
    response.on('error', () => {})
    response.setHeader('content-type', PROMETHEUS_TYPE)
    response.end(prometheusText(metrics()))
  }
