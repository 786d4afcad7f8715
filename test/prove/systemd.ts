import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { InstallNotes, type InstallStep, readInstallSteps } from '../support/install-steps.ts'
import { hostsFile } from '../support/installed-host.ts'
import { NetworkLab, namespacesMissing, programMissing } from '../support/network-lab.ts'
import { SystemdMachine } from '../support/systemd-machine.ts'
import { waitUntil } from '../support/wait-until.ts'

/**
 * docs/install.md to the letter on two machines that systemd runs, and then what a service has to
 * live through: kills, a process that hangs, a reload, a stop, an upgrade, the firewall of the unit
 * and a power failure. It needs root, overlayfs, unified control groups and a Debian with systemd,
 * which mmdebstrap makes from Debian's archive unless a folder is named.
 *
 *   npm run prove -- systemd [--base FOLDER]
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const { values } = parseArgs({ args: argv, options: { base: { type: 'string' } } })
  const missing =
    namespacesMissing ||
    programMissing('dpkg-deb') ||
    (values.base === undefined && programMissing('mmdebstrap'))
  if (missing !== false) {
    console.log(`this proof cannot run here: ${missing}`)
    return false
  }
  const folder = mkdtempSync(join(tmpdir(), 'shoal-systemd-'))
  try {
    const base = values.base === undefined ? makeBase(folder) : resolve(values.base)
    return await proveOn(base, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const root = resolve(import.meta.dirname, '..', '..')
const COORDINATOR = '10.9.0.1'
const CELL = '10.9.0.2'
const PRODUCTS = ['shoald', 'shoal-coordinator', 'shoal-cli']

const makeBase = (folder: string): string => {
  const base = join(folder, 'base')
  const packages = '--include=systemd,systemd-sysv,dbus,iproute2,procps,curl'
  execFileSync('mmdebstrap', ['--variant=minbase', packages, 'bookworm', base], {
    stdio: 'inherit',
  })
  return base
}

const buildPackages = (folder: string): string => {
  const packages = join(folder, 'packages')
  const only = PRODUCTS.flatMap(name => ['--only', name])
  const build = ['packaging/build-deb.mjs', '--out', packages, '--level', '0', ...only]
  execFileSync(process.execPath, build, { cwd: root, stdio: 'pipe' })
  return packages
}

interface Machines {
  coordinator: SystemdMachine
  cell: SystemdMachine
}

const proveOn = async (base: string, folder: string): Promise<boolean> => {
  const packages = buildPackages(folder)
  await using lab = new NetworkLab()
  lab.addHost('coordinator', `${COORDINATOR}/24`)
  lab.addHost('cell', `${CELL}/24`)
  const create = (name: string): Promise<SystemdMachine> => {
    const disk = join(folder, name)
    mkdirSync(disk)
    const hosts = hostsFile({ 'shoal.example': COORDINATOR })
    return SystemdMachine.create({ lab, name, base, packages, hosts, folder: disk })
  }
  await using coordinator = await create('coordinator')
  await using cell = await create('cell')
  const machines = { coordinator, cell }
  let isProven = true
  for (const [title, check] of [...listPageChecks(machines), ...listFaults(machines)]) {
    const startedMs = performance.now()
    const failure = await check().then(
      () => undefined,
      (error: Error) => error.message,
    )
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    console.log(`${failure === undefined ? 'ok    ' : 'FAILED'} ${seconds.padStart(6)} s  ${title}`)
    if (failure === undefined) continue
    console.log(failure)
    isProven = false
  }
  return isProven
}

type Check = [title: string, check: () => Promise<void>]

const requireText = (text: string, pattern: RegExp): void => {
  if (!pattern.test(text)) throw new Error(`${pattern} is not in:\n${text}`)
}

/** Each command of the page in its order; the services answer where the page says so. */
const listPageChecks = (machines: Machines): Check[] => {
  const notes = new InstallNotes()
  const follow = async ({ host, command }: InstallStep): Promise<string> => {
    const answer = await machines[host].run(notes.fill(command), notes.inputOf(command))
    notes.read(answer)
    return answer
  }
  const weights = readFileSync(join(root, 'models', 'weights', 'shoal-demo-small.gguf'))
  const bringWeights = async (): Promise<void> => {
    await machines.cell.run('mkdir -p /srv/models && cat > /srv/models/my-model.gguf', weights)
  }
  const steps = readInstallSteps().map((step): Check => {
    const [title = ''] = step.command.split('\n')
    const expected = title.startsWith('shoal chat')
      ? /\w+ \w+/
      : title === 'shoal cells list'
        ? /cell-1.*ready|ready.*cell-1/
        : undefined
    return [
      `${step.host}: ${title}`,
      async () => {
        if (expected === undefined) await follow(step)
        else await followUntil(title, () => follow(step), expected)
      },
    ]
  })
  return [['cell: a file with weights', bringWeights], ...steps]
}

const followUntil = async (
  title: string,
  follow: () => Promise<string>,
  expected: RegExp,
): Promise<void> => {
  let last = ''
  const isDone = async () => {
    last = await follow().catch((error: Error) => error.message)
    return expected.test(last) && !last.includes('ended with code')
  }
  await waitUntil(title, isDone, 1000).catch(error => {
    throw new Error(`${(error as Error).message}; the last answer was:\n${last}`)
  })
}

const CHAT = "shoal chat --model my-model 'What is a cell?'"
const ASK_HEALTH = 'curl -sk --max-time 2 https://shoal.example:7070/healthz'
const DROP_IN = '/etc/systemd/system/shoal-coordinator.service.d'

/** Files that the package and its service have put on the cell. */
const OF_THE_CELL = [
  ...[
    '/var/lib/shoald',
    '/var/lib/private/shoald',
    '/var/cache/shoald',
    '/var/cache/private/shoald',
  ],
  ...['/etc/shoal/shoald.yaml', '/etc/systemd/system/multi-user.target.wants/shoald.service'],
]

const listFaults = ({ coordinator, cell }: Machines): Check[] => {
  const answers = () => followUntil('the model answers', () => coordinator.run(CHAT), /\w+ \w+/)
  const isListedAs = (state: RegExp) =>
    followUntil('the cell is listed', () => coordinator.run('shoal cells list'), state)
  const mainPid = async (machine: SystemdMachine, unit: string): Promise<string> =>
    (await machine.run(`systemctl show --property MainPID --value ${unit}`)).trim()
  const startsAgainAfter = async (
    machine: SystemdMachine,
    unit: string,
    signal: string,
  ): Promise<void> => {
    const pid = await mainPid(machine, unit)
    await machine.run(`kill -${signal} ${pid}`)
    const isAnother = async () => {
      const state = await machine.run(`systemctl is-active ${unit} || true`)
      return state.startsWith('active') && (await mainPid(machine, unit)) !== pid
    }
    await waitUntil(`${unit} runs again`, isAnother, 500)
    await answers()
  }
  const journalOf = (machine: SystemdMachine, unit: string): Promise<string> =>
    machine.run(`journalctl --no-pager --quiet --output cat --identifier ${unit} --lines 60`)

  return [
    [
      'no unit has failed on either machine, and systemd finds nothing wrong in the units',
      async () => {
        for (const [machine, unit] of [
          [coordinator, 'shoal-coordinator'],
          [cell, 'shoald'],
        ] as const) {
          const failed = await machine.run('systemctl --failed --no-legend --plain')
          if (failed.trim() !== '') throw new Error(failed)
          const found = await machine.run(`systemd-analyze verify ${unit}.service`)
          if (found.trim() !== '') throw new Error(found)
          requireText(
            await machine.run(`systemd-analyze security ${unit} --no-pager`),
            /: [01]\.\d OK/,
          )
        }
      },
    ],
    [
      'kill -9 of the daemon: it runs again and its model answers',
      () => startsAgainAfter(cell, 'shoald', 'KILL'),
    ],
    [
      'kill -9 of the coordinator: it runs again and the model answers',
      () => startsAgainAfter(coordinator, 'shoal-coordinator', 'KILL'),
    ],
    [
      'a daemon that hangs is ended by the watchdog and runs again',
      () => startsAgainAfter(cell, 'shoald', 'STOP'),
    ],
    [
      'reload applies the level of the log and says so',
      async () => {
        await coordinator.run('echo "log: {level: debug}" >> /etc/shoal/coordinator.yaml')
        await coordinator.run('systemctl reload shoal-coordinator')
        const isSaid = async () =>
          /log\.level/.test(await journalOf(coordinator, 'shoal-coordinator'))
        await waitUntil('the journal names what was applied', isSaid, 500)
        await coordinator.run('sed -i /^log:/d /etc/shoal/coordinator.yaml')
        await coordinator.run('systemctl reload shoal-coordinator')
      },
    ],
    [
      'a daemon that was stopped is listed as stopped, and no unit counts as failed',
      async () => {
        await cell.run('systemctl stop shoald')
        requireText(await cell.run('systemctl is-active shoald || true'), /^inactive/)
        await isListedAs(/stopped/)
        await cell.run('systemctl start shoald')
        await isListedAs(/ready/)
        await answers()
      },
    ],
    [
      'a file that the unit hides is reported with the reason, and the journal has it as an error',
      async () => {
        await cell.run('cp /srv/models/my-model.gguf /root/')
        await coordinator.run('shoal models add hidden --path /root/my-model.gguf || true')
        const show = () => coordinator.run('shoal models show hidden')
        await followUntil('the reason is shown', show, /hides home folders/)
        await coordinator.run('shoal models remove hidden')
        const warnings = await cell.run('journalctl --unit shoald --priority warning --output cat')
        requireText(warnings, /home folders/)
        if (/"level":"info"/.test(warnings)) throw new Error('the journal has info as a warning')
      },
    ],
    [
      'without the drop-in nobody else can connect, and the journal names the file that helps',
      async () => {
        await cell.run(ASK_HEALTH)
        await coordinator.run(`mv ${DROP_IN} /root/drop-in && systemctl daemon-reload`)
        await coordinator.run('systemctl restart shoal-coordinator')
        const log = await journalOf(coordinator, 'shoal-coordinator')
        requireText(log, /no other machine can connect/)
        requireText(log, /remote-cells\.conf/)
        const isLetIn = await cell.run(ASK_HEALTH).then(
          () => true,
          () => false,
        )
        if (isLetIn) throw new Error('the other machine was let in')
        await coordinator.run(`mv /root/drop-in ${DROP_IN} && systemctl daemon-reload`)
        await coordinator.run('systemctl restart shoal-coordinator')
        await answers()
      },
    ],
    [
      'an upgrade starts both services again with their state',
      async () => {
        const before = await mainPid(cell, 'shoald')
        await cell.run('dpkg -i shoald_*.deb')
        await coordinator.run('dpkg -i shoal-coordinator_*.deb')
        if ((await mainPid(cell, 'shoald')) === before) throw new Error('shoald was not restarted')
        await answers()
      },
    ],
    [
      'after a power failure of both machines everything runs again by itself',
      async () => {
        for (const machine of [coordinator, cell]) await machine.cutPower()
        for (const machine of [coordinator, cell]) await machine.boot()
        await answers()
        requireText(await coordinator.run('shoal-coordinator audit verify'), /^ok +true$/m)
      },
    ],
    [
      'purge removes the state, the settings and the service',
      async () => {
        await cell.run('dpkg --purge shoald')
        const found = await cell.run(`ls -d ${OF_THE_CELL.join(' ')} 2>/dev/null || true`)
        if (found.trim() !== '') throw new Error(`left behind: ${found}`)
        requireText(await cell.run('pgrep --full "[s]hoald.mjs" || echo none'), /^none$/m)
        await isListedAs(/stopped/)
      },
    ],
  ]
}
