import { setImmediate } from 'node:timers/promises'
import { connectAsync } from 'mqtt'
import t, { type Test } from 'tap'
import { createDeviceId } from '../../../devices/device-id.ts'
import { parseValueTemplate } from '../../../devices/links/mqtt/sources/value-template.ts'
import { matchesFilter } from '../../../devices/mqtt/topics.ts'
import type { Json } from '../../../devices/profile.ts'
import { testDeviceLink } from '../../contracts/device-link.ts'
import { mosquittoMissing } from '../../support/mosquitto.ts'
import {
  HOME_ASSISTANT_SWITCH,
  type MqttHome,
  SHELLY,
  startMqttHome,
  TASMOTA_CONFIG,
  TASMOTA_MAC,
  ZIGBEE_DEVICES,
  ZIGBEE_LAMP,
} from '../../support/mqtt-home.ts'
import { openLink } from '../../support/open-mqtt-link.ts'
import { startPrinter } from '../../support/stand-in-printer.ts'
import { waitUntil } from '../../support/wait-until.ts'

const LASER = {
  name: 'laser',
  availability: { topic: 'lab/laser/status' },
  properties: {
    power_percent: { topic: 'lab/laser/state', pointer: '/laser/power', unit: '%' },
  },
  verbs: {
    power: {
      description: 'Set the power of the laser.',
      params: { power: { type: 'integer', min: 0, max: 100 } },
      topic: 'lab/laser/set',
      payload: { power: '{power}' },
    },
    off: {
      description: 'Switch the laser off.',
      hazard: 'caution',
      topic: 'lab/laser/set',
      payload: { power: 0 },
      confirm: { property: 'power_percent', value: 0 },
    },
  },
  estop_verb: 'off',
}

const startHome = async (t: Test): Promise<MqttHome> => {
  const home = await startMqttHome()
  t.teardown(() => home.stop())
  return home
}

t.test('with a real mosquitto', { skip: mosquittoMissing }, async t => {
  t.test('devices of four ecosystems are found in their own announcements', async t => {
    const home = await startHome(t)
    await home.announce()
    const { link, require, waitFor, value } = openLink(t, home.url)
    for (const name of ['Heater', 'Fan', SHELLY, 'workshop/lamp', 'Garden Pump'])
      await waitFor(name)
    t.strictSame(Object.fromEntries(link.list().map(({ name, profile }) => [name, profile.id])), {
      Heater: 'tasmota-switch',
      Fan: 'tasmota-switch',
      [SHELLY]: 'shelly-switch',
      'workshop/lamp': 'zigbee-light',
      door: 'zigbee-sensor',
      'Weather station Outside temperature': 'home-assistant-sensor',
      'Garden Pump': 'home-assistant-switch',
    })
    t.equal(require('Heater').deviceId, createDeviceId(`tasmota:${TASMOTA_MAC}:1`))
    t.equal(require('workshop/lamp').deviceId, createDeviceId(`zigbee:${ZIGBEE_LAMP}`))
    t.match(require('door'), { available: false, reason: /has not reported yet/ })

    await home.say('tele/tasmota_C3D4E5/STATE', { POWER1: 'ON', Wifi: { RSSI: 60, Signal: -60 } })
    await home.say('tele/tasmota_C3D4E5/SENSOR', { ENERGY: { Power: 850, Total: 12.5 } })
    await home.say('zigbee2mqtt/door', { contact: false, battery: 87, voltage: 3005 })
    await home.say('weather/station-7/state', { climate: { temperature: 4.25 } })
    await waitFor('door')
    await waitFor('Weather station Outside temperature')
    t.match(value('Heater', 'on'), { value: true })
    t.match(value('Heater', 'power_watts'), { value: 850 })
    t.match(value('Heater', 'link_quality_percent'), { value: 80 })
    t.match(value('door', 'open'), { value: true })
    t.match(value('door', 'battery_percent'), { value: 87 })
    t.equal(value('door', 'voltage_volts'), undefined, 'millivolts are not volts')
    t.match(value('Weather station Outside temperature', 'temperature_celsius'), { value: 4.25 })
  })

  t.test('a retained message is no sign of life, and its reading has no known age', async t => {
    const home = await startHome(t)
    await home.announce()
    const { link, require, waitFor, value } = openLink(t, home.url)
    await waitFor(SHELLY)
    await waitUntil('the retained status is read', () => value(SHELLY, 'on'))
    t.strictSame(value(SHELLY, 'on'), { value: false, at: 0 })
    t.equal(link.readState(require(SHELLY).deviceId)?.seen_at, null)
    await home.say(`${SHELLY}/status/switch:0`, { id: 0, output: true })
    await waitUntil('the status is read', () => value(SHELLY, 'on')?.value === true)
    // a further subscription brings the retained message once more
    link.broker.connection.subscribe([`${SHELLY}/status/#`])
    await waitUntil('the subscription is granted', async () => {
      await home.say(`${SHELLY}/status/wifi`, { rssi: -50 })
      return link.broker.topics.list().some(({ topic }) => topic === `${SHELLY}/status/wifi`)
    })
    t.match(value(SHELLY, 'on'), { value: true })
    t.ok((value(SHELLY, 'on')?.at ?? 0) > 0)
    t.ok(link.readState(require(SHELLY).deviceId)?.seen_at)
    await home.say(`${SHELLY}/online`, 'false', true)
    await waitUntil('it is offline', () => require(SHELLY).reason === 'the device is offline')
  })

  t.test('commands are confirmed by the devices, and none is retained', async t => {
    const home = await startHome(t)
    await home.announce()
    const { execute, waitFor, value } = openLink(t, home.url)
    for (const name of ['Fan', SHELLY, 'workshop/lamp', 'Garden Pump']) await waitFor(name)
    for (const name of ['Fan', SHELLY, 'workshop/lamp', 'Garden Pump'])
      t.strictSame(await execute(name, 'on'), { confirmed: true })
    await execute('workshop/lamp', 'brightness', { percent: 50 })
    await waitUntil(
      'the lamp is dimmed',
      () => value('workshop/lamp', 'brightness_percent')?.value === 50,
    )
    t.match(home.commands, [
      { topic: 'cmnd/tasmota_C3D4E5/POWER2', payload: 'ON' },
      { topic: `${SHELLY}/rpc`, payload: /"method":"Switch.Set","params":\{"id":0,"on":true\}/ },
      { topic: 'zigbee2mqtt/workshop/lamp/set', payload: '{"state":"ON"}' },
      { topic: 'garden/pump/set', payload: 'ON' },
      { topic: 'zigbee2mqtt/workshop/lamp/set', payload: '{"state":"ON","brightness":127}' },
    ])
    t.ok(home.commands.every(({ retain }) => retain === undefined))
  })

  t.test('nothing is sent after a reconnect that was asked before it', async t => {
    const home = await startHome(t)
    await home.announce()
    const { execute, waitFor, require } = openLink(t, home.url)
    await waitFor('Fan')
    home.setObedient(false)
    const hanging = t.rejects(execute('Fan', 'on'))
    await waitUntil('the command has arrived', () => home.commands.length === 1)
    const restarted = home.restart()
    await waitUntil('the broker is gone', () => !require('Fan').available)
    await t.rejects(execute('Fan', 'off'), { name: 'DeviceFailure', reason: 'broker_unavailable' })
    await restarted
    await hanging
    await home.announce()
    await waitFor('Fan')
    await home.say('stat/tasmota_C3D4E5/POWER2', 'OFF')
    t.ok(
      home.commands.every(({ payload }) => payload === 'ON' || payload === 'OFF'),
      'only the command and the stop of its abort',
    )
    t.ok(home.commands.filter(({ payload }) => payload === 'ON').length <= 1)
  })

  t.test('a device that is announced no more is gone, and comes back', async t => {
    const home = await startHome(t)
    await home.announce()
    const { find, waitFor } = openLink(t, home.url)
    await waitFor('workshop/lamp')
    await home.say('zigbee2mqtt/bridge/devices', ZIGBEE_DEVICES.slice(0, 1), true)
    await home.say('homeassistant/switch/garden-pump/config', '', true)
    await waitUntil('both are gone', () => !find('workshop/lamp') && !find('Garden Pump'))
    await home.say('homeassistant/switch/garden-pump/config', HOME_ASSISTANT_SWITCH, true)
    await waitUntil('the pump is back', () => find('Garden Pump'))
  })

  t.test(
    'no message is missed while devices change their topics, and they are asked again',
    async t => {
      const home = await startHome(t)
      const [, lamp] = ZIGBEE_DEVICES
      const announceLamps = (first: string, second: string) =>
        home.say('zigbee2mqtt/bridge/devices', [
          { ...lamp, friendly_name: first },
          { ...lamp, friendly_name: second, ieee_address: `${ZIGBEE_LAMP.slice(0, -2)}ff` },
        ])
      const { link, find, waitFor } = openLink(t, home.url)
      const heard = new Set<number>()
      link.broker.connection.onMessage(({ topic, payload }) => {
        if (topic === 'zigbee2mqtt/hall/a') heard.add(JSON.parse(`${payload}`).number)
      })
      await waitUntil('the lamps are found', async () => {
        await announceLamps('hall/a', 'hall/b')
        return find('hall/b')
      })
      await waitUntil('the topic is read', async () => {
        await home.say('zigbee2mqtt/hall/a', { number: 0, state: 'ON' })
        return heard.has(0)
      })
      await waitFor('hall/a')
      const publisher = await connectAsync(home.url, { protocolVersion: 4 })
      t.teardown(() => publisher.endAsync(true))
      let sent = 0
      for (let turn = 0; turn < 16; turn++) {
        const announced =
          turn % 2 ? announceLamps('hall/a', 'hall/b') : announceLamps('hall/b', 'hall/a')
        for (let each = 0; each < 12; each++) {
          // the last of each turn is awaited: the broker has all before it
          const qos = each === 11 ? 1 : 0
          await publisher.publishAsync('zigbee2mqtt/hall/a', `{"number":${++sent}}`, { qos })
          await setImmediate()
        }
        await announced
      }
      await waitUntil('the last message is read', async () => {
        // only messages of one client are in order
        await publisher.publishAsync('zigbee2mqtt/hall/a', '{"number":-1}')
        return heard.has(-1)
      })
      const missed = Array.from({ length: sent }, (_, index) => index + 1).filter(
        number => !heard.has(number),
      )
      t.strictSame(missed, [])
      const asked = () => home.questions.filter(topic => topic === 'zigbee2mqtt/hall/c/get').length
      for (const times of [1, 2]) {
        await announceLamps('hall/c', 'hall/b')
        await waitUntil('the renamed lamp is asked for its state', () => asked() === times)
        await announceLamps('hall/a', 'hall/b')
      }
    },
  )

  t.test('hostile messages do no harm, and too many devices are left out', async t => {
    const home = await startHome(t)
    const { link, find } = openLink(t, home.url, {
      max_devices: 3,
      max_message_bytes: 64 * 1024,
    })
    await waitUntil('the link is connected', async () => {
      await home.say(`${SHELLY}/status/switch:0`, { output: true })
      return find(SHELLY)
    })
    const config = (more: object) => ({ ...TASMOTA_CONFIG, rl: [1], ...more })
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
    for (const topic of ['tasmota/discovery/x/config', 'zigbee2mqtt/bridge/devices'])
      for (const payload of [deep, '{', 'null', '[null,{"ieee_address":7}]', '"x"', '{"a":1e999}'])
        await home.say(topic, payload)
    await home.say('homeassistant/sensor/x/config', `{"dev":${deep.slice(0, 50_000)}`)
    await home.say('homeassistant/sensor/x/config', { stat_t: '#', uniq_id: 'x' })
    await home.say('homeassistant/switch/x/config', { cmd_t: 'a/+/b', stat_t: 'c', uniq_id: 'y' })
    await home.say('homeassistant/sensor/x/config', '{"__proto__":{"polluted":1},"stat_t":"s"}')
    await home.say('homeassistant/sensor/x/config', '')
    await home.say('tasmota/discovery/y/config', config({ ft: '%prefix%/#/%topic%' }))
    await home.say('tasmota/discovery/z/config', 'x'.repeat(70_000))
    await home.say(
      'tasmota/discovery/z/config',
      config({ mac: '02A1B2C3D400', t: 'plain', fn: ['\u001b[2J\u202eevil\nname'] }),
    )
    await waitUntil('the escaped name is listed', () =>
      link.list().some(each => each.name.includes('evil')),
    )
    t.ok(find('\\u{1b}[2J\\u{202e}evil\\u{a}name'), 'control characters are escaped')
    for (let at = 0; at < 10; at++)
      await home.say(`tasmota/discovery/n${at}/config`, config({ mac: `02A1B2C3D41${at}` }))
    await home.say(`${SHELLY}/online`, 'false')
    await waitUntil('the last message is read', () => find(SHELLY)?.available === false)
    t.equal(link.list().length, 3)
    t.notOk('polluted' in {})
  })

  t.test('a declared device has a profile of its own, and unknown hazards are unsafe', async t => {
    const home = await startHome(t)
    const { require, waitFor, execute, value, link } = openLink(t, home.url, {
      sources: [],
      devices: [LASER],
    })
    await home.say('lab/laser/status', 'online', true)
    await waitFor('laser')
    const { profile, deviceId } = require('laser')
    t.equal(profile.id, 'mqtt-generic-laser')
    t.equal(profile.verbs.power?.hazard, 'unsafe')
    t.notOk(profile.verbs.power?.params.safeParse({ power: 101 }).success)
    t.strictSame(await execute('laser', 'power', { power: 40 }), { confirmed: false })
    await waitUntil('the power is read', () => value('laser', 'power_percent')?.value === 40)
    await link.stop(deviceId, 'cut')
    t.match(value('laser', 'power_percent'), { value: 0 })
  })

  testDeviceLink(t, {
    open: async t => {
      const home = await startHome(t)
      await home.announce()
      const end = new AbortController()
      t.teardown(() => end.abort())
      const { link, waitFor } = openLink(t, home.url, {}, end.signal)
      await waitFor('Fan')
      await waitFor('workshop/lamp')
      await waitFor(SHELLY)
      const confirmsOf = (topic: string, payload: string) =>
        link.list().flatMap(({ options }) =>
          Object.values((options.commands ?? {}) as Record<string, Record<string, Json>>)
            .filter(command => command.topic === topic && toText(command.payload) === payload)
            .map(({ confirm }) => confirm),
        )[0]
      return {
        link,
        listReceived: () =>
          home.commands.map(({ topic, payload }) => {
            const confirm = confirmsOf(topic, payload)
            return { topic, payload, ...(confirm !== undefined && { confirm }) }
          }),
        hang: () => home.setObedient(false),
        hasStopped: () => home.commands.some(({ payload }) => payload === 'OFF'),
        end: () => end.abort(),
      }
    },
    uses: [
      { device: 'Fan', verb: 'on', params: {} },
      { device: 'Fan', verb: 'off', params: {} },
      { device: 'workshop/lamp', verb: 'on', params: {} },
      { device: SHELLY, verb: 'on', params: {} },
    ],
    hanging: { device: 'Fan', verb: 'on', params: {} },
  })
})

const toText = (payload: Json | undefined): string =>
  typeof payload === 'string' ? payload : JSON.stringify(payload)

t.test('a broker over TLS is pinned, and gets the password of the file', async t => {
  const broker = await startPrinter()
  t.teardown(() => broker.stop())
  const url = `mqtts://127.0.0.1:${broker.port}`
  const login = { username: 'bblp', password_file: '31415926' }
  openLink(t, url, { ...login, fingerprint: broker.fingerprint })
  await waitUntil('the link is connected', () => broker.subscribed.length > 0)
  t.strictSame(broker.logins, [{ username: 'bblp', password: '31415926' }])
  const { link } = openLink(t, url, { ...login, fingerprint: '0'.repeat(64), devices: [LASER] })
  await waitUntil('the certificate is refused', () =>
    link.list()[0]?.reason?.includes('another certificate'),
  )
  t.equal(broker.logins.length, 1)
})

t.test('filters cover topics as the standard says', async t => {
  for (const [filter, topic, covers] of [
    ['a/+/c', 'a/b/c', true],
    ['a/+', 'a/b/c', false],
    ['a/#', 'a', true],
    ['a/#', 'a/b/c', true],
    ['#', '$SYS/uptime', false],
    ['+/online', '$SYS/online', false],
    ['a/b', 'a/b/', false],
  ] as const)
    t.equal(matchesFilter(filter, topic), covers, `${filter} ${topic}`)
})

t.test('a value template that only chooses a value is understood, any other is not', async t => {
  const payload = { text: '{"a":{"b c":[1,2]}}', json: { a: { 'b c': [1, 2] } } }
  for (const [template, value] of [
    ["{{ value_json.a['b c'][1] }}", 2],
    ['{{value_json.a | float(0) | round(2)}}', { 'b c': [1, 2] }],
    ['{{ value }}', payload.text],
  ] as const)
    t.strictSame(parseValueTemplate(template)?.(payload), value, template)
  for (const template of ["{{ 'on' if value_json.a else 'off' }}", '{% if x %}', 'x', ''])
    t.equal(parseValueTemplate(template), undefined, template)
})
