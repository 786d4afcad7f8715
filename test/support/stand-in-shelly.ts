import { connectAsync } from 'mqtt'

/* A Shelly of the second generation, as its firmware answers (API documentation: MQTT, RPC channels,
   Switch, Cover, Light). A quiet one: it reports nothing by itself but its last will. */

type Status = Record<string, Record<string, unknown>>

interface Parts {
  url: string
  name: string
  prefix: string
  status: Status
  /** True for one that also publishes the status of its components. */
  sendsStatus?: boolean
}

interface StandInShelly {
  status: Status
  /** Methods that change something, with their parameters, oldest first. */
  calls: { method: string; params: Record<string, unknown> }[]
  notify(component: string, change: Record<string, unknown>): Promise<void>
  stop(): Promise<void>
}

/** Changes by method; a motion begins and goes on. */
const CHANGES: Readonly<
  Record<string, (params: Record<string, unknown>) => Record<string, unknown>>
> = {
  'Switch.Set': ({ on }) => ({ output: on }),
  'Light.Set': ({ on, brightness }) => ({
    ...(on !== undefined && { output: on }),
    ...(brightness !== undefined && { brightness }),
  }),
  'Cover.Open': () => ({ state: 'opening' }),
  'Cover.Close': () => ({ state: 'closing' }),
  'Cover.Stop': () => ({ state: 'stopped' }),
  'Cover.GoToPosition': ({ pos }) => ({ state: 'stopped', current_pos: pos }),
}

export const startShelly = async (parts: Parts): Promise<StandInShelly> => {
  const { url, name, prefix, status, sendsStatus = false } = parts
  const client = await connectAsync(url, { protocolVersion: 4, reconnectPeriod: 50 })
  const calls: StandInShelly['calls'] = []
  const say = async (topic: string, payload: object | string, retain = false): Promise<void> => {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    await client.publishAsync(topic, text, { qos: 1, retain })
  }

  const notify = async (component: string, change: Record<string, unknown>): Promise<void> => {
    Object.assign(status[component] ?? {}, change)
    const params = { ts: 1.5, [component]: { id: Number(component.split(':')[1]), ...change } }
    const notice = { src: name, dst: `${prefix}/events`, method: 'NotifyStatus', params }
    await say(`${prefix}/events/rpc`, notice)
  }

  const answer = async (payload: string): Promise<void> => {
    const { id, src, method, params = {} } = JSON.parse(payload)
    const reply = (more: object) => say(`${src}/rpc`, { id, src: name, dst: src, ...more })
    if (method === 'Shelly.GetStatus') return reply({ result: status })
    const component = `${String(method).split('.')[0]?.toLowerCase()}:${params.id}`
    const change = CHANGES[method]
    if (change === undefined || status[component] === undefined)
      return reply({ error: { code: 404, message: `No handler for ${method}` } })
    calls.push({ method, params })
    await reply({ result: null })
    await notify(component, change(params))
  }

  client.on('message', (_topic, bytes) => void answer(`${bytes}`))
  await client.subscribeAsync(`${prefix}/rpc`, { qos: 1 })
  await say(`${prefix}/online`, 'true', true)
  if (sendsStatus)
    for (const [component, each] of Object.entries(status))
      await say(`${prefix}/status/${component}`, each)
  return { status, calls, notify, stop: () => client.endAsync(true) }
}
