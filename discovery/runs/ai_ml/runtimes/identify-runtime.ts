import { originOf } from '../../../net/http-probe.ts'
import { LOAD_METRICS, readLoad } from './read-load.ts'
import { NO_LOAD, type Runtime } from './runtime.ts'
import type { PortReply, RuntimePort } from './runtime-port.ts'
import { RUNTIME_RULES, type RuntimeRule, readVersion } from './runtime-rules.ts'

/** Names the runtime behind an endpoint, or a protected LLM API; undefined for anything else. */
export const identifyRuntime = async (endpoint: RuntimePort): Promise<Runtime | undefined> => {
  for (const rule of listRules(endpoint.target.port)) {
    const reply = await endpoint.get(rule.path)
    if (reply?.status !== 200) continue
    if (!rule.isAnswer(reply.json, reply.text, endpoint.target.port)) continue
    return describeRuntime(endpoint, rule)
  }
  return (await findLoading(endpoint)) ?? findProtected(endpoint)
}

/** Rules of the port first; among equals the order of the table. */
const listRules = (port: number): RuntimeRule[] =>
  RUNTIME_RULES.toSorted((a, b) => Number(b.ports.includes(port)) - Number(a.ports.includes(port)))

const createRuntime = (endpoint: RuntimePort, kind: string, facts: Partial<Runtime>): Runtime => ({
  url: originOf(endpoint.target),
  host: endpoint.target.address,
  port: endpoint.target.port,
  kind,
  version: null,
  state: 'ready',
  is_open: null,
  confidence_percent: 0,
  evidence: [],
  tls: endpoint.target.isTls,
  models: [],
  load: NO_LOAD,
  ...facts,
})

const describeRuntime = async (endpoint: RuntimePort, rule: RuntimeRule): Promise<Runtime> => {
  const models = await rule.models?.(endpoint)
  const { metrics } = rule
  return createRuntime(endpoint, rule.kind, {
    ...(await readAccess(endpoint, rule, models !== undefined)),
    version: await readVersion(endpoint, rule),
    confidence_percent: rule.confidencePercent,
    evidence: [`GET ${rule.path} is an answer of ${rule.kind}`],
    models: models ?? [],
    load: metrics === undefined ? NO_LOAD : await readLoad(endpoint, LOAD_METRICS[metrics]),
  })
}

const readAccess = async (
  endpoint: RuntimePort,
  { guardedPath = '/v1/models' }: RuntimeRule,
  hasModels: boolean,
): Promise<Pick<Runtime, 'state' | 'is_open'>> => {
  const isGuarded = guardedPath !== '/v1/models' || !hasModels
  if (isGuarded && isDenied(await endpoint.get(guardedPath)))
    return { state: 'auth_required', is_open: false }
  return hasModels ? { state: 'ready', is_open: true } : { state: 'degraded', is_open: null }
}

const isDenied = (reply: PortReply | undefined): reply is PortReply =>
  reply?.status === 401 || reply?.status === 403

/** llama.cpp answers 503 with its own error while it reads weights (its server documentation). */
const findLoading = async (endpoint: RuntimePort): Promise<Runtime | undefined> => {
  const reply = await endpoint.get('/health')
  if (reply?.status !== 503 || !reply.text.includes('"unavailable_error"')) return undefined
  return createRuntime(endpoint, 'llama-cpp', {
    state: 'loading',
    confidence_percent: 80,
    evidence: ['GET /health answers 503 unavailable_error'],
  })
}

/**
 * A list of models that asks for credentials proves an LLM API, unless the server protects every
 * page: then it asks for a bearer token at least.
 */
const findProtected = async (endpoint: RuntimePort): Promise<Runtime | undefined> => {
  const reply = await endpoint.get('/v1/models')
  if (!isDenied(reply)) return undefined
  const isAll = isDenied(await endpoint.get('/'))
  const isApi = reply.wantsBearer || (!isAll && reply.json !== undefined)
  if (!isApi) return undefined
  return createRuntime(endpoint, 'openai-compatible', {
    state: 'auth_required',
    is_open: false,
    confidence_percent: 60,
    evidence: [`GET /v1/models answers ${reply.status}`],
  })
}
