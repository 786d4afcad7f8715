import { ANSWER_SECONDS, Histogram } from '../../../shared/metrics/histogram.ts'
import {
  createCounter,
  createMetric,
  type Metric,
  Tally,
  toMetricValues,
} from '../../../shared/metrics/metric.ts'

/** Counters of one route. The handler keeps a reference, so that no request needs a lookup. */
export interface RouteMetrics {
  method: string
  route: string
  byStatus: Map<number, number>
  seconds: Histogram
}

/** Why the server closed a connection that the client had not finished with. */
export type CloseReason = 'pipelined' | 'slow_reader' | 'made_way' | 'over_limit'

export interface HttpMetrics {
  /** The metrics of a route; `route` as it was registered, not the path of a request. */
  route(method: string, route: string): RouteMetrics
  recordStart(): void
  recordEnd(route: RouteMetrics, status: number, seconds: number): void
  /** An error was answered. */
  countError(code: string): void
  countClose(reason: CloseReason): void
  list: readonly Metric[]
}

/** Rate, errors and durations of every route. */
export const createHttpMetrics = (): HttpMetrics => {
  const routes = new Map<string, RouteMetrics>()
  const codes = new Tally()
  const closes = new Tally()
  let inFlight = 0

  const route: HttpMetrics['route'] = (method, route) => {
    const name = `${method} ${route}`
    const metrics = routes.get(name) ?? {
      method,
      route,
      byStatus: new Map<number, number>(),
      seconds: new Histogram(ANSWER_SECONDS),
    }
    routes.set(name, metrics)
    return metrics
  }

  return {
    route,
    recordStart: () => {
      inFlight++
    },
    recordEnd: ({ byStatus, seconds }, status, took) => {
      inFlight--
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
      seconds.observe(took)
    },
    countError: code => codes.add([code]),
    countClose: reason => closes.add([reason]),
    list: [
      {
        name: 'shoal_http_requests_total',
        type: 'counter',
        help: 'Requests by route and status; 499 is a client that left before the end.',
        labels: ['method', 'route', 'status'],
        read: () =>
          [...routes.values()].flatMap(({ method, route, byStatus }) =>
            [...byStatus].map(([status, value]) => ({
              labels: { method, route, status: String(status) },
              value,
            })),
          ),
      },
      {
        name: 'shoal_http_request_duration_seconds',
        type: 'histogram',
        help: 'From the request to the last byte of its answer, streams included.',
        labels: ['method', 'route'],
        read: () =>
          [...routes.values()].flatMap(({ method, route, seconds }) =>
            toMetricValues({ method, route }, seconds),
          ),
      },
      createMetric(
        {
          name: 'shoal_http_requests_in_flight',
          type: 'gauge',
          help: 'Requests that are being answered.',
        },
        () => inFlight,
      ),
      createCounter(
        {
          name: 'shoal_http_errors_total',
          help: 'Errors that were answered, by code.',
          labels: ['code'],
        },
        codes,
      ),
      createCounter(
        {
          name: 'shoal_http_connections_closed_total',
          help: 'Client connections that the coordinator closed to protect others, by reason.',
          labels: ['reason'],
        },
        closes,
      ),
    ],
  }
}
