import type { Test } from 'tap'
import { openPipeline } from '../../coordinator/calls/invoke/open.ts'
import type { Alert } from '../../coordinator/fleet/alerts/alert.ts'
import type { Fleet } from '../../coordinator/fleet/cells/fleet.ts'
import { openFleet } from '../../coordinator/fleet/cells/open.ts'
import type { Embeddings } from '../../coordinator/insight/knowledge/embeddings.ts'
import type { OpenPart } from '../../coordinator/kernel/base/open-all.ts'
import type { Skill } from '../../coordinator/kernel/declaration/skill.ts'
import type { CloudEvent } from '../../coordinator/kernel/events/bus.ts'
import { openEvents } from '../../coordinator/kernel/events/open.ts'
import { openWorker } from '../../coordinator/kernel/queue/open-worker.ts'
import { openAskModel } from '../../coordinator/surfaces/http/open-ask-model.ts'
import { silent } from './cell.ts'
import { createConversingParts, type TestConversationOptions } from './conversing.ts'
import { openNothing, openScene, withMembers } from './coordinator.ts'
import { createEvents } from './memory-events.ts'

type PipelinePartParts = Parameters<typeof openPipeline>[0]

interface GovernanceOptions {
  /** Folder of the store. */
  folder?: string
  now?: () => number
  agents?: object
  alerts?: Alert[]
  /** Settings of visitors. */
  settings?: object
  conversing?: TestConversationOptions
  /** Skills beside the product's. */
  moreSkills?: readonly Skill[]
  pipeline?: Partial<PipelinePartParts>
}

/** No embedding model is served. */
const embeddings: Embeddings = {
  find: () => undefined,
  embed: () => Promise.reject(new Error('no model is asked here')),
}

/** The parts of the product with the models and alerts of the test; no job is run. */
export const governanceScene = async (
  t: Pick<Test, 'teardown'>,
  {
    conversing = {},
    alerts = [],
    settings = {},
    agents = {},
    moreSkills = [],
    pipeline,
    ...rest
  }: GovernanceOptions = {},
) => {
  const { askModel, quota, running } = createConversingParts(conversing)
  const memory = createEvents({ source: '/shoal/test', logger: silent })
  const serves = conversing.serves ?? (() => true)
  const swaps = new Map<OpenPart, OpenPart>([
    [openWorker, openNothing],
    [openEvents, () => ({ events: memory })],
    [
      openPipeline,
      (parts: Parameters<typeof openPipeline>[0]) => openPipeline({ ...parts, ...pipeline }),
    ],
    [openAskModel, () => ({ askModel, views: { embeddings } })],
    [
      openFleet,
      (parts: Parameters<typeof openFleet>[0]) => overrideServes(openFleet(parts), serves),
    ],
  ])
  const scene = await openScene(t, {
    ...rest,
    swaps,
    moreSkills: [...moreSkills, ...(conversing.moreSkills ?? [])],
    env: conversing.env ?? {},
    config: {
      keys: { public_tenant: 'demo', ...settings },
      agents,
      conversations: conversing.settings ?? {},
      outbound: conversing.outbound ?? {},
    },
    given: { quota, running },
    views: {
      monitor: { alerts: () => alerts, isDegraded: () => false },
      fleet: { serves: (id: string) => id === 'model-a:7b' },
    },
  })
  const { app, demo, fleet, keys, store } = scene
  const events: CloudEvent[] = []
  scene.events.subscribe('', event => void events.push(event))
  const call = async (
    key: string | undefined,
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: object,
    more: Record<string, string> = {},
  ) => {
    const headers = {
      ...more,
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      'content-type': 'application/json',
    }
    const payload = body === undefined ? {} : { payload: JSON.stringify(body) }
    const response = await app.inject({ method, url, headers, ...payload })
    const isJson = /^application\/json(;|$)/.test(String(response.headers['content-type']))
    const json = isJson ? response.json() : response.body
    return { status: response.statusCode, json, headers: response.headers }
  }
  const text = async (key: string, url: string) => {
    const response = await app.inject({ url, headers: { authorization: `Bearer ${key}` } })
    return [response.headers['content-type'], response.body]
  }
  const { agents: sessions, knowledge, flows } = scene.views
  return { app, demo, call, text, fleet, keys, store, agents: sessions, knowledge, flows, events }
}

const overrideServes = (opened: ReturnType<typeof openFleet>, serves: Fleet['serves']) => {
  return { ...opened, fleet: withMembers(opened.fleet, { serves }) }
}
