import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import wifiScan from '../../../../discovery/modules/network/wifi-scan.ts'
import { toNetwork } from '../../../../discovery/runs/network/wifi/read-connection.ts'
import { splitTerse } from '../../../../discovery/runs/network/wifi/split-terse.ts'
import run from '../../../../discovery/runs/network/wifi-scan.ts'
import { createScanContext, listRows } from '../../../support/scan-context.ts'

/** Programs that answer by the end of their command line; `status` is 0 unless given. */
type Answers = readonly { when: string; text?: string; status?: number; error?: string }[]

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Makes PATH hold only stand-ins, so that no program of the machine answers. */
const withPrograms = (t: Test, programs: Record<string, Answers>): void => {
  const folder = t.testdir({})
  const before = process.env.PATH
  process.env.PATH = folder
  t.teardown(() => {
    process.env.PATH = before
  })
  for (const [name, answers] of Object.entries(programs)) {
    const cases = answers.map(
      ({ when, text = '', status = 0, error = '' }) =>
        `*${quote(when)}) printf %s ${quote(text)}; printf %s ${quote(error)} >&2; exit ${status};;`,
    )
    const script = ['#!/bin/sh', 'case "$*" in', ...cases, 'esac', 'exit 64', '']
    writeFileSync(join(folder, name), script.join('\n'), { mode: 0o755 })
  }
}

const scan = async () => {
  const warnings: string[] = []
  const context = createScanContext({ onWarning: (_code, message) => warnings.push(message) })
  const rows = await listRows(wifiScan, run({}, context))
  return { rows, warnings }
}

const TERSE = [
  String.raw`yes:3C\:84\:6A\:00\:00\:01:Cafe\: Free WiFi:2437 MHz:72::(none):wlan0:20 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:02:back\\slash:5180 MHz:100:WPA2 WPA3:pair_ccmp psk sae:wlan0:80 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:03::5955 MHz:31:WPA3:pair_ccmp group_ccmp sae:wlan0:160 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:04:Straße 東京 ☕:2484 MHz:0:WPA1 WPA2:pair_tkip psk:wlan0:40 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:05:corp:2412 MHz:55:WPA2 802.1X:pair_ccmp 802.1X:wlan0:20 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:06:guest:2462 MHz:40:OWE-TM:(none):wlan0:20 MHz`,
  String.raw`no:3C\:84\:6A\:00\:00\:07:old:2417 MHz:20:WEP:(none):wlan0:20 MHz`,
  String.raw`no:00\:11\:22\:00\:00\:08:corp:2412 MHz:90:--:(none):wlan0:20 MHz`,
].join('\n')

t.test('wifi-scan by nmcli', async t => {
  t.test('reads names with colons, backslashes and letters of every script', async t => {
    withPrograms(t, { nmcli: [{ when: '--rescan yes', text: TERSE }] })
    const { rows, warnings } = await scan()
    t.strictSame(warnings, [])
    t.strictSame(
      rows.map(({ ssid, channel, security, signal_dbm }) => [ssid, channel, security, signal_dbm]),
      [
        ['Cafe: Free WiFi', 6, 'open', -57],
        ['back\\slash', 36, 'wpa2', -40],
        [null, 1, 'wpa3', -81],
        ['Straße 東京 ☕', 14, 'wpa', -100],
        ['corp', 1, 'enterprise', -67],
        ['guest', 11, 'open', -76],
        ['old', 2, 'wep', -88],
        ['corp', 1, 'open', -46],
      ],
    )
    t.match(rows[0], { bssid: '3c:84:6a:00:00:01', is_connected: true, band: '2.4_ghz' })
    t.match(rows[1], { security_modes: ['wpa2', 'wpa3'], width_mhz: 80, band: '5_ghz' })
    t.match(rows[2], { is_hidden: true, band: '6_ghz', width_mhz: 160 })
    t.strictSame(
      rows.filter(row => row.is_twin_suspected).map(({ bssid }) => bssid),
      ['00:11:22:00:00:08'],
      'an open network with the name of an enterprise one may be its twin',
    )
  })

  t.test('asks an older nmcli again without the field that it does not know', async t => {
    const text = String.raw`no:3C\:84\:6A\:00\:00\:01:lab:2437 MHz:72:WPA2:psk:wlan0`
    withPrograms(t, {
      nmcli: [
        {
          when: 'DEVICE,BANDWIDTH device wifi list --rescan yes',
          status: 2,
          error: "Error: invalid field 'BANDWIDTH'",
        },
        { when: 'DEVICE device wifi list --rescan yes', text },
      ],
    })
    t.match((await scan()).rows, [{ ssid: 'lab', width_mhz: null, security: 'wpa2' }])
  })

  t.test('gives the last list, marked, when a new scan is refused', async t => {
    const refused = { status: 1, error: 'Error: Scanning not allowed immediately following' }
    withPrograms(t, {
      nmcli: [
        { when: '--rescan yes', ...refused },
        { when: '--rescan no', text: TERSE },
      ],
    })
    const { rows, warnings } = await scan()
    t.ok(rows.every(row => row.is_cached))
    t.match(warnings, [/networks of the last one/])
  })

  t.test('counts lines of another form instead of guessing', async t => {
    withPrograms(t, { nmcli: [{ when: '--rescan yes', text: `${TERSE}\nnonsense:1:2` }] })
    const { rows, warnings } = await scan()
    t.equal(rows.length, 8)
    t.match(warnings, [/^1 lines/])
  })
})

const IW = [
  'BSS 3c:84:6a:00:00:01(on wlan0) -- associated',
  '\tfreq: 5180.0',
  '\tcapability: ESS Privacy (0x0011)',
  '\tsignal: -48.00 dBm',
  '\tlast seen: 120 ms ago',
  String.raw`	SSID: B\xc3\xbcro: 2`,
  '\tRSN:\t * Version: 1',
  '\t\t * Group cipher: CCMP',
  '\t\t * Authentication suites: PSK SAE',
  '\tHT operation:',
  '\t\t * primary channel: 36',
  '\t\t * secondary channel offset: above',
  '\tVHT operation:',
  '\t\t * channel width: 1 (80 MHz)',
  'BSS 3c:84:6a:00:00:02(on wlan0)',
  '\tfreq: 2412',
  '\tcapability: ESS Privacy (0x0011)',
  '\tsignal: -70.50 dBm',
  String.raw`	SSID: \x00\x00\x00`,
  '\tHT operation:',
  '\t\t * secondary channel offset: no secondary',
  'BSS 3c:84:6a:00:00:03(on wlan0)',
  '\tfreq: 2412',
  '\tcapability: ESS Privacy (0x0011)',
  '\tSSID: corp',
  '\tRSN:\t * Version: 1',
  '\t\t * Authentication suites: FT/IEEE 802.1X',
  '',
].join('\n')

const DEVICES = 'phy#0\n\tInterface wlan0\n\t\tifindex 3\n\t\ttype managed\n'

t.test('wifi-scan by iw', async t => {
  t.test('is used where NetworkManager does not run, and reports the age', async t => {
    withPrograms(t, {
      nmcli: [{ when: '', status: 8, error: 'Error: NetworkManager is not running.' }],
      iw: [
        { when: 'wlan0 scan', text: IW },
        { when: 'dev', text: DEVICES },
      ],
    })
    t.match((await scan()).rows, [
      {
        ssid: 'Büro: 2',
        security: 'wpa2',
        security_modes: ['wpa2', 'wpa3'],
        width_mhz: 80,
        channel: 36,
        signal_dbm: -48,
        age_s: 0.12,
        is_connected: true,
        source: 'iw',
      },
      { ssid: null, is_hidden: true, security: 'wep', width_mhz: 20, signal_dbm: -70.5 },
      { ssid: 'corp', security: 'enterprise', signal_dbm: null },
    ])
  })

  t.test('falls back to what the kernel has without the right to scan', async t => {
    const denied = { status: 255, error: 'command failed: Operation not permitted (-1)' }
    withPrograms(t, {
      iw: [
        { when: 'wlan0 scan', ...denied },
        { when: 'scan dump', text: IW },
        { when: 'dev', text: DEVICES },
      ],
    })
    t.ok((await scan()).rows.every(row => row.is_cached))
    withPrograms(t, {
      iw: [
        { when: 'wlan0 scan', ...denied },
        { when: 'scan dump', text: '' },
        { when: 'dev', text: DEVICES },
      ],
    })
    await t.rejects(scan(), { name: 'NotPossibleHere', message: /CAP_NET_ADMIN/ })
  })
})

t.test('wifi-scan says why it is not possible', async t => {
  withPrograms(t, {})
  await t.rejects(scan(), { name: 'NotPossibleHere', message: /neither NetworkManager .* nor iw/ })
  withPrograms(t, { iw: [{ when: 'dev', text: '' }] })
  await t.rejects(scan(), { name: 'NotPossibleHere', message: /no Wi-Fi adapter/ })
  withPrograms(t, {
    nmcli: [
      { when: '--rescan yes', text: '' },
      { when: 'device status', text: 'ethernet:connected\n' },
    ],
  })
  await t.rejects(scan(), { name: 'NotPossibleHere', message: /no Wi-Fi adapter/ })
})

t.test(
  'wifi-scan reports the radio as a sighting, with a weak key for a local address',
  async t => {
    withPrograms(t, { nmcli: [{ when: '--rescan yes', text: TERSE }] })
    const { rows } = await scan()
    const observe = (row: object) => wifiScan.observe?.(row as never, { cellId: 'cell-1' }) ?? []
    t.match(observe(rows[4] as object), [
      {
        keys: [{ kind: 'mac', value: '3c:84:6a:00:00:05' }],
        facts: { ssid: 'corp', wifi_security: 'enterprise', signal_dbm: -67 },
      },
    ])
    const local = { ...rows[4], bssid: '3e:84:6a:00:00:05' }
    t.match(observe(local), [{ keys: [{ kind: 'private_mac' }] }])
  },
)

t.test('a connection that the system reports without an address gives no network', t => {
  t.strictSame(toNetwork({ ssid: 'lab' }), [])
  const found = { bssid: '3C:84:6A:00:00:01', ssid: 'lab', frequency: 2437, security: 'WPA2' }
  t.match(toNetwork(found), [{ ssid: 'lab', channel: 6, security: 'wpa2', is_connected: true }])
  t.end()
})

t.test('a field of nmcli comes back as it was escaped, whatever it holds', t => {
  const values = ['', ':', '\\', '\\:', ':\\', 'a:b\\c', '\\\\', '::', 'ü\\']
  const line = values.map(value => value.replaceAll(/[\\:]/g, '\\$&')).join(':')
  t.strictSame(splitTerse(line), values)
  t.end()
})
