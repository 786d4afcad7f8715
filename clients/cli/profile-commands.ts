import { type Command, InvalidArgumentError, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { type PrintableRows, terminalWidth } from '../../shared/print.ts'
import { login } from './login.ts'
import type { Environment, GlobalOptions } from './options.ts'
import { loadPrinter } from './printer.ts'
import {
  type ConnectionProfile,
  type Profiles,
  profilesFile,
  readProfiles,
  writeProfiles,
} from './profiles.ts'

/** `shoal login`; like the commands below, it never prints a key. */
export const addLogin = (program: Command, env: Environment): void => {
  program
    .command('login')
    .description('store an address and a key in a profile and make it current')
    .addOption(
      new Option(
        '--pin <fingerprint>',
        'of its certificate authority, as at the end of a join token',
      ).argParser(pin),
    )
    .option('--no-check', 'store the key without checking it')
    .addHelpText('after', LOGIN_HELP)
    .action(async (own: { pin?: string; check: boolean }) => {
      const options = program.opts<GlobalOptions>()
      await printIn(options, await login({ ...options, ...own }, env, profilesFile(env)))
    })
}

/** `shoal profile …` */
export const addProfileGroup = (program: Command, env: Environment): void => {
  const file = profilesFile(env)
  const options = (): GlobalOptions => program.opts<GlobalOptions>()
  const print = (value: PrintableRows): Promise<void> => printIn(options(), value)
  const group = program.command('profile').description('manage profiles: list, use, show, remove')
  group
    .command('list')
    .description('list profiles; * marks the current one')
    .action(() => print(listProfiles(readProfiles(file))))
  group
    .command('use')
    .argument('<name>')
    .description('make a profile current')
    .action(name => change(file, name, kept => ({ ...kept, current: name })).then(print))
  group
    .command('show')
    .argument('[name]')
    .description('show a profile, or the current one, without its key')
    .action(name => {
      const kept = readProfiles(file)
      const wanted = name ?? options().profile ?? (env.SHOAL_PROFILE || kept.current)
      return print(describeProfile(wanted ?? '', profileOf(kept, wanted), kept))
    })
  group
    .command('remove')
    .argument('<name>')
    .description('delete a profile and its key')
    .action(name => change(file, name, kept => removeProfile(kept, name)).then(print))
}

const LOGIN_HELP = `
Without --key it asks for the key and does not show it; --key - takes it from
the input. A key among the arguments can be read by everybody on the machine.

Example:
  shoal login --url https://shoal.example:7070 --profile work --ca-file ca.crt`

const pin = (text: string): string => {
  if (/^[\w-]{43}$/.test(text)) return text
  throw new InvalidArgumentError('43 characters are needed, SHA-256 as base64url')
}

const printIn = async ({ format }: GlobalOptions, value: PrintableRows): Promise<void> => {
  const { toText } = await loadPrinter(format)
  process.stdout.write(toText(value, terminalWidth(process.stdout)))
}

const listProfiles = ({ profiles, current }: Profiles): PrintableRows => ({
  profiles: Object.entries(profiles).map(([name, { url, key, tenant }]) => ({
    in_use: name === current ? '*' : '',
    name,
    url,
    tenant: tenant ?? null,
    has_key: key !== undefined,
  })),
})

const describeProfile = (name: string, profile: ConnectionProfile, { current }: Profiles) => ({
  name,
  url: profile.url,
  tenant: profile.tenant ?? null,
  has_key: profile.key !== undefined,
  own_authority: profile.ca !== undefined,
  in_use: name === current,
})

const profileOf = ({ profiles }: Profiles, name: string | undefined): ConnectionProfile => {
  const next = 'shoal profile list'
  if (name === undefined)
    throw new ShoalError('not_found', 'no profile is in use; create one with shoal login', { next })
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (found !== undefined) return found
  throw new ShoalError('not_found', `there is no profile ${name}`, { reason: 'name_unknown', next })
}

const change = async (
  file: string,
  name: string,
  update: (kept: Profiles) => Profiles,
): Promise<PrintableRows> => {
  const kept = readProfiles(file)
  const profile = profileOf(kept, name)
  const after = update(kept)
  await writeProfiles(file, after)
  return Object.hasOwn(after.profiles, name)
    ? describeProfile(name, profile, after)
    : { removed: name }
}

const removeProfile = ({ current, profiles }: Profiles, name: string): Profiles => {
  const { [name]: _removed, ...rest } = profiles
  return { ...(current === undefined || current === name ? {} : { current }), profiles: rest }
}
