import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import type { CheckSubject } from '../../../daemon/doctor/check.ts'
import { bluetooth, wifi } from '../../../daemon/doctor/radio-checks.ts'

/** Subject with these files in place of the kernel's; a path that ends in / is a folder. */
const patientWith = (folder: string, files: Record<string, string>): CheckSubject => {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, 'class', path)
    mkdirSync(path.endsWith('/') ? file : dirname(file), { recursive: true })
    if (!path.endsWith('/')) writeFileSync(file, text)
  }
  return { sysFolder: folder } as CheckSubject
}

for (const [title, check, files, expected] of [
  ['no kernel class', bluetooth, {}, { state: 'ok', says: /^no Bluetooth adapter/ }],
  ['no kernel class', wifi, {}, { state: 'ok', says: /^no wifi adapter/ }],
  [
    'an adapter, and a connection of it',
    bluetooth,
    { 'bluetooth/hci0/': '', 'bluetooth/hci0:64/': '' },
    { state: 'ok', says: 'hci0' },
  ],
  [
    'an adapter that software has switched off',
    bluetooth,
    { 'bluetooth/hci0/rfkill1/soft': '1\n', 'bluetooth/hci0/rfkill1/hard': '0\n' },
    {
      state: 'warn',
      says: /^hci0 \(switched off by software\)/,
      remedy: 'rfkill unblock bluetooth',
    },
  ],
  [
    'one of two that is on',
    bluetooth,
    { 'bluetooth/hci0/rfkill1/soft': '1\n', 'bluetooth/hci1/rfkill2/soft': '0\n' },
    { state: 'ok', says: 'hci0 (switched off by software), hci1' },
  ],
  [
    'a wire and a wifi adapter',
    wifi,
    { 'net/eth0/operstate': 'up\n', 'net/lo/': '', 'net/wlan0/phy80211/rfkill0/soft': '0\n' },
    { state: 'ok', says: 'wlan0' },
  ],
  ['an old driver', wifi, { 'net/wlan0/wireless/': '' }, { state: 'ok', says: 'wlan0' }],
  [
    'a switch on the case',
    wifi,
    { 'net/wlan0/phy80211/rfkill0/hard': '1\n' },
    { state: 'warn', says: /switched off by hand/, remedy: /switch or key/ },
  ],
] as const)
  t.test(`${check.name} with ${title}`, async t => {
    t.match(await check(patientWith(t.testdir(), files)), expected)
  })
