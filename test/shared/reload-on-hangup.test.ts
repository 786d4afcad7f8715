import { EventEmitter } from 'node:events'
import t from 'tap'
import { reloadOnHangup } from '../../shared/reload-on-hangup.ts'

interface Settings {
  level: number
  port?: number
  site?: { lat?: number; lon?: number; name?: string }
}

const scene = (started: Settings) => {
  const source = new EventEmitter()
  const logged: [string, object][] = []
  const note = (facts: object, message: string) => void logged.push([message, facts])
  const logger = { info: note, warn: note, error: note }
  const file = { text: JSON.stringify(started) }
  const config = () => JSON.parse(file.text) as Settings
  const read = () => ({ action: 'run', config: config(), given: [] }) as const
  const onReload = reloadOnHangup({ read, started, logger: logger as never, source })
  const hangUp = (text: string) => {
    file.text = text
    source.emit('SIGHUP')
    return logged.splice(0)
  }
  return { onReload, hangUp }
}

t.test('each listener gets the configuration that a SIGHUP finds', async t => {
  const { onReload, hangUp } = scene({ level: 1 })
  const got: number[] = []
  onReload(['level'], ({ level }) => void got.push(level))
  onReload(['level'], ({ level }) => void got.push(10 * level))
  hangUp('{"level":2}')
  t.strictSame(got, [2, 20])
  t.match(hangUp('{'), [['configuration not read again', { reason: /JSON/ }]])
  t.strictSame(got, [2, 20], 'a fault changes nothing')
})

t.test('the log names what is applied and what needs a restart', async t => {
  const started = { level: 1, port: 7070, site: { lat: 1, lon: 2, name: 'a' } }
  const { onReload, hangUp } = scene(started)
  onReload(['level'], () => {})
  onReload(['site', '-site.name'], () => {})
  const changed = { level: 2, port: 7071, site: { lat: 3, lon: 2, name: 'b' } }
  const [line] = hangUp(JSON.stringify(changed))
  t.match(line, [
    /need a restart/,
    { reloaded: ['level', 'site.lat'], needs_restart: ['port', 'site.name'] },
  ])
  const [again] = hangUp(JSON.stringify({ ...changed, port: 7070, site: { lat: 3, lon: 2 } }))
  t.strictSame(again?.[1], { reloaded: [], needs_restart: ['site.name'] }, 'as of the start')
  const [same] = hangUp(JSON.stringify({ ...started, level: 2, site: { ...started.site, lat: 3 } }))
  t.match(same, ['configuration read again', { reloaded: [], needs_restart: [] }])
})
