import t, { type Test } from 'tap'
import type { LinkedDevice } from '../../../devices/device-link.ts'
import { renderCommand } from '../../../devices/links/mqtt/sources/command-template.ts'
import { PROFILES } from '../../../devices/profiles/index.ts'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import { mosquittoMissing } from '../../support/mosquitto.ts'
import { type MqttHome, startMqttHome } from '../../support/mqtt-home.ts'
import { openLink } from '../../support/open-mqtt-link.ts'
import { startShelly } from '../../support/stand-in-shelly.ts'
import { startTasmota } from '../../support/stand-in-tasmota.ts'
import { waitUntil } from '../../support/wait-until.ts'

/* Shapes of announcements, planted one by one: each from the sources of its project. */

const startHome = async (t: Test): Promise<MqttHome> => {
  const home = await startMqttHome()
  t.teardown(() => home.stop())
  return home
}

/** Resolves with the newest command, when it is one of the topic. */
const newestOf = async (home: MqttHome, topic: string, at = 0): Promise<string> => {
  const listPayloads = () => home.commands.filter(each => each.topic === topic)
  await waitUntil(`${topic} has arrived`, () => listPayloads().length > at)
  return listPayloads().at(-1)?.payload ?? ''
}

/** Runs a verb; `answer` is what the device says to the command. */
const runAnswered = async (
  home: MqttHome,
  running: Promise<unknown>,
  topic: string,
  answer: object | string,
): Promise<void> => {
  const before = home.commands.length
  await waitUntil('the command has arrived', () => home.commands.length > before)
  await home.say(topic, answer)
  await running
}

const radio = (friendly_name: string, at: number, exposes: object[]): object => ({
  ieee_address: `0x00158d0002a1c0${String(at).padStart(2, '0')}`,
  type: 'Router',
  friendly_name,
  disabled: false,
  definition: { model: 'M', vendor: 'V', exposes },
})

const entity = (home: MqttHome, kind: string, object: string, config: object): Promise<void> =>
  home.say(`homeassistant/${kind}/${object}/config`, { uniq_id: object, ...config }, true)

t.test('with a real mosquitto', { skip: mosquittoMissing }, async t => {
  t.test('a relay of Tasmota is addressed by its own number, beside a shutter', async t => {
    const home = await startHome(t)
    const mac = '02A1B2C3D501'
    const tasmota = await startTasmota({ url: home.url, mac, topic: 'roller', relays: [3, 3, 1] })
    t.teardown(() => tasmota.stop())
    const { link, require, waitFor, execute } = openLink(t, home.url)
    await waitFor('roller relay 3')
    await execute('roller relay 3', 'on')
    t.strictSame(tasmota.power, [false, false, true], 'the motor stands still')
    await link.stop(require('roller relay 3').deviceId, 'cut')
    t.strictSame(tasmota.power, [false, false, false])
    t.strictSame(tasmota.commands, ['POWER3 ON', 'POWER3 OFF'])
    t.match(require('roller shutter'), { profile: { id: 'tasmota-cover' } })
    t.equal(link.list().length, 2, 'the relays of the shutter are no switches')
  })

  t.test('a shutter of Tasmota moves by its own verbs, and an e-stop stops it', async t => {
    const home = await startHome(t)
    const mac = '02A1B2C3D502'
    const tasmota = await startTasmota({ url: home.url, mac, topic: 'blind', relays: [3, 3, 3, 3] })
    t.teardown(() => tasmota.stop())
    const { link, require, waitFor, execute, value } = openLink(t, home.url)
    await waitFor('blind shutter 2')
    await waitUntil('its state is read', () => value('blind shutter 2', 'cover_state'))
    t.match(value('blind shutter 2', 'cover_state'), { value: 'closed' })
    const opening = t.rejects(execute('blind shutter 2', 'open'))
    await waitUntil('it opens', () => value('blind shutter 2', 'moving')?.value === true)
    await link.stop(require('blind shutter 2').deviceId, 'hold')
    t.match(value('blind shutter 2', 'moving'), { value: false })
    t.strictSame(tasmota.commands, ['ShutterOpen2', 'ShutterStop2'])
    t.strictSame(tasmota.power, [false, false, false, false])
    await opening
    const closing = execute('blind shutter 2', 'position', { percent: 30 })
    await waitUntil('it was sent', () => tasmota.commands.includes('ShutterPosition2 30'))
    await tasmota.arrive()
    await closing
    t.match(value('blind shutter 2', 'position_percent'), { value: 30 })
  })

  t.test('one relay of Tasmota reports as POWER, and takes its number all the same', async t => {
    const home = await startHome(t)
    const mac = '02A1B2C3D503'
    const tasmota = await startTasmota({ url: home.url, mac, topic: 'plug', relays: [1] })
    t.teardown(() => tasmota.stop())
    const { waitFor, execute, value } = openLink(t, home.url)
    await waitFor('plug relay 1')
    await waitUntil('a quiet relay is asked', () => value('plug relay 1', 'on'))
    t.match(value('plug relay 1', 'on'), { value: false })
    await execute('plug relay 1', 'on')
    t.strictSame(tasmota.commands, ['POWER1 ON'])
  })

  t.test('a Shelly has any prefix, and switches, covers and lights', async t => {
    const home = await startHome(t)
    const cover = await startShelly({
      url: home.url,
      name: 'shellyplus2pm-02a1b2c3d601',
      prefix: 'house/hall/shellyplus2pm-02a1b2c3d601',
      status: { 'cover:0': { id: 0, state: 'closed', current_pos: 0, apower: 0 } },
    })
    t.teardown(() => cover.stop())
    const light = await startShelly({
      url: home.url,
      name: 'shellydimmerg3-02a1b2c3d602',
      prefix: 'house/lamp',
      status: {
        'light:0': { id: 0, output: false, brightness: 20 },
        'light:1': { id: 1, output: true, brightness: 70 },
        wifi: { rssi: -60 },
      },
    })
    t.teardown(() => light.stop())
    const { link, waitFor, execute, value, require } = openLink(t, home.url)
    const blind = 'shellyplus2pm-02a1b2c3d601'
    await waitFor(blind)
    await waitUntil('its state is read', () => value(blind, 'cover_state'))
    t.match(value(blind, 'cover_state'), { value: 'closed' })
    t.equal(require(blind).profile.id, 'shelly-cover')
    const opening = execute(blind, 'open')
    await waitUntil('it opens', () => value(blind, 'cover_state')?.value === 'opening')
    await cover.notify('cover:0', { state: 'open', current_pos: 100 })
    await opening
    void execute(blind, 'close').catch(() => {})
    await waitUntil('it closes', () => value(blind, 'moving')?.value === true)
    await link.stop(require(blind).deviceId, 'hold')
    t.strictSame(
      cover.calls.map(({ method, params }) => [method, params.id]),
      [
        ['Cover.Open', 0],
        ['Cover.Close', 0],
        ['Cover.Stop', 0],
      ],
    )

    await home.say('house/lamp/status/light:0', { id: 0, output: false })
    const dimmed = 'shellydimmerg3-02a1b2c3d602:light:1'
    await waitFor(dimmed)
    await execute(dimmed, 'brightness', { percent: 35 })
    t.strictSame(light.calls, [
      { method: 'Light.Set', params: { id: 1, on: true, brightness: 35 } },
    ])
    t.equal(light.status['light:0']?.brightness, 20)
  })

  t.test('a quiet plug is asked for its state, and is available', async t => {
    const home = await startHome(t)
    const shelly = await startShelly({
      url: home.url,
      name: 'shellyplugsg3-02a1b2c3d603',
      prefix: 'shellyplugsg3-02a1b2c3d603',
      status: { 'switch:0': { id: 0, output: true } },
    })
    t.teardown(() => shelly.stop())
    const state = { type: 'binary', name: 'state', property: 'state', access: 7 }
    await home.say('zigbee2mqtt/bridge/state', { state: 'online' }, true)
    await home.say(
      'zigbee2mqtt/bridge/devices',
      [radio('office/plug', 1, [{ type: 'switch', features: [state] }])],
      true,
    )
    await home.say('quiet/state', 'ON', true)
    await entity(home, 'switch', 'quiet', {
      name: 'Quiet',
      cmd_t: 'quiet/set',
      stat_t: 'quiet/state',
    })
    const { waitFor, value, find } = openLink(t, home.url)
    await waitFor('shellyplugsg3-02a1b2c3d603')
    await waitUntil('the radio is asked', () =>
      home.questions.includes('zigbee2mqtt/office/plug/get'),
    )
    t.equal(find('office/plug')?.available, false, 'until it answers')
    await home.say('zigbee2mqtt/office/plug', { state: 'OFF' })
    await waitFor('office/plug')
    t.match(value('office/plug', 'on'), { value: false })
    await waitFor('Quiet')
    t.strictSame(value('Quiet', 'on'), { value: true, at: 0 }, 'retained, its age unknown')
  })

  t.test('covers, locks and sirens of Zigbee2MQTT have their own words', async t => {
    const home = await startHome(t)
    const feature = (type: string, name: string, access: number, more: object = {}) => ({
      type,
      name,
      property: name,
      access,
      ...more,
    })
    const position = { value_min: 0, value_max: 100, unit: '%' }
    await home.say(
      'zigbee2mqtt/bridge/devices',
      [
        radio('house/cover', 1, [
          {
            type: 'cover',
            features: [
              feature('enum', 'state', 3, { values: ['OPEN', 'CLOSE', 'STOP'] }),
              feature('numeric', 'position', 7, position),
            ],
          },
          feature('enum', 'motor_state', 1, { values: ['OPENING', 'CLOSING', 'STOPPED'] }),
        ]),
        radio('house/door', 2, [
          {
            type: 'lock',
            features: [
              feature('binary', 'state', 7, { value_on: 'LOCK', value_off: 'UNLOCK' }),
              feature('enum', 'lock_state', 1, {
                values: ['not_fully_locked', 'locked', 'unlocked'],
              }),
            ],
          },
          feature('numeric', 'battery', 1, { unit: '%' }),
        ]),
        radio('house/siren', 3, [
          {
            ...feature('composite', 'warning', 2),
            features: [
              feature('enum', 'mode', 2, { values: ['stop', 'burglar', 'fire', 'emergency'] }),
              feature('numeric', 'duration', 2, { unit: 's' }),
            ],
          },
        ]),
        radio('house/alarm', 4, [
          feature('binary', 'alarm', 3, { value_on: true, value_off: false }),
        ]),
      ],
      true,
    )
    const names = ['cover', 'door', 'siren', 'alarm alarm'].map(name => `house/${name}`)
    const { link, require, execute, value } = openLink(t, home.url)
    for (const name of ['cover', 'door', 'siren', 'alarm'])
      await waitUntil(`${name} is listed`, async () => {
        await home.say(`zigbee2mqtt/house/${name}`, { linkquality: 100 })
        return link.list().some(each => each.name.startsWith(`house/${name}`) && each.available)
      })
    const [cover = '', door = '', , alarm = ''] = names
    const siren = 'house/siren warning'
    t.match(
      link
        .list()
        .map(({ profile }) => profile.id)
        .sort(),
      ['zigbee-cover', 'zigbee-lock', 'zigbee-siren', 'zigbee-siren'],
    )

    await home.say('zigbee2mqtt/house/cover', { position: 40, motor_state: 'STOPPED' })
    await waitUntil('it stands', () => value(cover, 'cover_state')?.value === 'stopped')
    void execute(cover, 'open').catch(() => {})
    await waitUntil('it was sent', () => home.commands.at(-1)?.payload === '{"state":"OPEN"}')
    await home.say('zigbee2mqtt/house/cover', { position: 60, motor_state: 'OPENING' })
    await waitUntil('it opens', () => value(cover, 'moving')?.value === true)
    await runAnswered(home, link.stop(require(cover).deviceId, 'hold'), 'zigbee2mqtt/house/cover', {
      position: 65,
      motor_state: 'STOPPED',
    })

    // the bolt counts, not the echo of the request
    const unlocking = execute(door, 'unlock')
    await waitUntil('it was sent', () => home.commands.at(-1)?.payload === '{"state":"UNLOCK"}')
    await home.say('zigbee2mqtt/house/door', { state: 'UNLOCK', lock_state: 'locked' })
    await waitUntil('the bolt is read', () => value(door, 'locked')?.value === true)
    await home.say('zigbee2mqtt/house/door', { state: 'UNLOCK', lock_state: 'unlocked' })
    t.strictSame(await unlocking, { confirmed: true })

    t.strictSame(await execute(siren, 'sound', { seconds: 5 }), { confirmed: false })
    t.match(JSON.parse(await newestOf(home, 'zigbee2mqtt/house/siren/set')), {
      warning: { mode: 'emergency', duration: 5 },
    })
    await execute(siren, 'off')
    t.equal(await newestOf(home, 'zigbee2mqtt/house/siren/set', 1), '{"warning":{"mode":"stop"}}')
    const sent = home.commands.length
    await link.stop(require(alarm).deviceId, require(alarm).profile.atEstop)
    t.equal(home.commands.length, sent, 'an e-stop silences no alarm')
  })

  t.test('templates of Home Assistant are obeyed, or leave a device that is only read', async t => {
    const home = await startHome(t)
    await entity(home, 'switch', 'json', {
      name: 'Json',
      cmd_t: 'lab/json/set',
      cmd_tpl: '{"relay": "{{ value | lower }}", "by": {{ value | tojson }}}',
      stat_t: 'lab/json/state',
      val_tpl: '{{ value_json.relay | upper }}',
      avty: { t: 'lab/json/state', val_tpl: '{{ value_json.link }}', pl_avail: 'True' },
    })
    await entity(home, 'switch', 'program', {
      name: 'Program',
      cmd_t: 'lab/program/set',
      cmd_tpl: "{% if value == 'ON' %}1{% else %}0{% endif %}",
      stat_t: 'lab/program/state',
    })
    await entity(home, 'switch', 'braces', {
      name: 'Braces',
      cmd_t: 'lab/braces/set',
      pl_on: '{on}',
      pl_off: '~',
      '~': 'elsewhere',
    })
    const { link, require, waitFor, execute, find } = openLink(t, home.url)
    await waitUntil('all are listed', () => link.list().length === 3)
    await waitUntil('its availability is read', async () => {
      await home.say('lab/json/state', { relay: 'off', link: true })
      return find('Json')?.available
    })
    const switching = execute('Json', 'on')
    await runAnswered(home, switching, 'lab/json/state', { relay: 'on', link: true })
    t.strictSame(home.commands.at(-1)?.payload, '{"relay": "on", "by": "ON"}')

    await home.say('lab/program/state', 'ON')
    await waitFor('Program')
    t.match(require('Program'), { writable: false, reason: /command template/ })
    await t.rejects(
      link.execute(require('Program').deviceId, [{ topic: 'lab/program/set', payload: '1' }], {
        signal: AbortSignal.timeout(5000),
        report: () => {},
        bounds: {},
      }),
    )
    await execute('Braces', 'on')
    t.equal(await newestOf(home, 'lab/braces/set'), '{on}')
    await execute('Braces', 'off')
    t.equal(await newestOf(home, 'lab/braces/set', 1), '~')
    t.notOk(home.commands.some(({ topic }) => topic === 'lab/program/set'))
  })

  t.test('a stop is confirmed by no reading from before the motion', async t => {
    const home = await startHome(t)
    const config = { name: 'Gate', cmd_t: 'lab/gate/set', stat_t: 'lab/gate/state' }
    await entity(home, 'cover', 'gate', config)
    const { link, require, waitFor, execute, value } = openLink(t, home.url)
    await waitUntil('it is listed', () => link.list().length === 1)
    await home.say('lab/gate/state', 'stopped')
    await waitFor('Gate')
    await waitUntil('it rests', () => value('Gate', 'moving')?.value === false)
    const { deviceId } = require('Gate')
    t.match(await link.stop(deviceId, 'hold'), { seen: { state: 'reached' } }, 'nothing moves it')
    const opening = execute('Gate', 'open')
    t.equal(await newestOf(home, 'lab/gate/set', 1), 'OPEN')
    await t.rejects(link.stop(deviceId, 'hold'), /did not confirm/)
    await home.say('lab/gate/state', 'open')
    await opening
    t.match(await link.stop(deviceId, 'hold'), { seen: { state: 'reached' } })
  })

  t.test('components of one Home Assistant device have distinct names', async t => {
    const home = await startHome(t)
    await home.say(
      'homeassistant/device/garden/config',
      {
        dev: { ids: ['garden'], name: 'Garden' },
        o: { name: 'maker' },
        '~': 'garden',
        avty_t: '~/status',
        stat_t: '~/state',
        cmps: {
          pump: { p: 'switch', uniq_id: 'g-1', name: null, cmd_t: '~/pump/set' },
          valve: { p: 'switch', uniq_id: 'g-2', name: null, cmd_t: '~/valve/set' },
          soil: {
            p: 'sensor',
            uniq_id: 'g-3',
            dev_cla: 'moisture',
            val_tpl: '{{ value_json.soil }}',
          },
          gate: {
            p: 'cover',
            uniq_id: 'g-4',
            dev_cla: 'gate',
            name: 'Gate',
            cmd_t: '~/gate/set',
            stat_t: '~/gate/state',
            set_pos_t: '~/gate/position',
            pos_t: '~/gate/at',
            pos_open: 0,
            pos_clsd: 255,
          },
          gone: { p: 'light' },
        },
      },
      true,
    )
    await entity(home, 'lock', 'door', {
      dev: { ids: ['garden'], name: 'Garden' },
      name: 'Door',
      cmd_t: 'garden/door/set',
      stat_t: 'garden/door/state',
    })
    await entity(home, 'lock', 'coded', {
      name: 'Coded',
      cmd_t: 'lab/x/set',
      code_format: '^\\d{4}$',
    })
    await entity(home, 'siren', 'horn', { name: 'Horn', cmd_t: 'lab/horn/set' })
    await home.say('garden/status', 'online', true)
    const { link, require, waitFor, execute, value } = openLink(t, home.url)
    await waitFor('Garden pump')
    await waitUntil('all are listed', () => link.list().length === 7)
    t.strictSame(
      link
        .list()
        .map(({ name, profile, writable }) => [name, profile.id, writable])
        .sort(),
      [
        ['Coded', 'home-assistant-lock', false],
        ['Garden Door', 'home-assistant-lock', true],
        ['Garden Gate', 'home-assistant-entrance', true],
        ['Garden moisture', 'home-assistant-sensor', true],
        ['Garden pump', 'home-assistant-switch', true],
        ['Garden valve', 'home-assistant-switch', true],
        ['Horn', 'home-assistant-siren', true],
      ],
    )
    await execute('Horn', 'sound', { seconds: 9 })
    t.equal(await newestOf(home, 'lab/horn/set'), '{"state":"ON","duration":9}')
    await home.say('garden/gate/at', '255')
    await waitUntil('the gate is closed', () => value('Garden Gate', 'position_percent'))
    t.match(value('Garden Gate', 'position_percent'), { value: 0 })
    t.match(planOf(require('Garden Gate'), 'position', { percent: 20 }), {
      operations: [{ topic: 'garden/gate/position', payload: '204' }],
    })
    t.throws(() => planOf(require('Coded'), 'unlock'), { code: 'invalid_request' })
  })
})

const planOf = ({ deviceId, profile, options }: LinkedDevice, verb: string, params: object = {}) =>
  profile.verbs[verb]?.plan(params as never, { device_id: deviceId, options, envelope: {} })

t.test('what lets people in needs two approvers, and what moves or sounds needs one', async t => {
  const read = (id: string, verb: string) => {
    const profile = PROFILES.find(one => one.id === id)
    const { hazard, gate = 'usual', isUrgent = false } = profile?.verbs[verb] ?? {}
    return [hazard, hazard === 'unsafe' ? gate : isUrgent]
  }
  for (const [id, verb, hazard, rest] of [
    ['zigbee-lock', 'unlock', 'unsafe', CRITICAL_GATE],
    ['home-assistant-lock', 'open', 'unsafe', CRITICAL_GATE],
    ['home-assistant-entrance', 'open', 'unsafe', CRITICAL_GATE],
    ['home-assistant-entrance', 'position', 'unsafe', CRITICAL_GATE],
    ['home-assistant-entrance', 'close', 'unsafe', 'usual'],
    ['zigbee-lock', 'lock', 'caution', false],
    ['tasmota-cover', 'open', 'unsafe', 'usual'],
    ['shelly-cover', 'stop', 'safe', true],
    ['zigbee-siren', 'sound', 'unsafe', 'usual'],
    ['zigbee-siren', 'off', 'caution', false],
  ] as const)
    t.strictSame(read(id, verb), [hazard, rest], `${id} ${verb}`)
})

t.test('a command template that is a program, or needs what is not known, is refused', async t => {
  for (const [template, payload] of [
    [undefined, 'ON'],
    ['{{ value }}', 'ON'],
    ['{"a": {"b": "{{value|lower}}"}}', '{"a": {"b": "on"}}'],
    ['{{ value | int }}', undefined],
    ['{{ value | reverse }}', undefined],
    ['{{ states("lock.door") }}', undefined],
    ['{{ tone }}', undefined],
    ['{{ value ~ "!" }}', undefined],
    ["{{ 'a' if value == 'ON' else 'b' }}", undefined],
    ['{% set x = 1 %}{{ value }}', undefined],
    ['{# note #}{{ value }}', undefined],
    ['{name} {{ value }}', undefined],
  ] as const)
    t.equal(renderCommand(template, { value: 'ON' }), payload, `${template}`)
  t.equal(
    renderCommand('{"p": {{ position | int }} }', { position: '{percent}' }),
    '{"p": {percent} }',
  )
  t.equal(renderCommand('{{ position | lower }}', { position: '{percent}' }), undefined)
})
