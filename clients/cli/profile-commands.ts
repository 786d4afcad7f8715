import { type Command, InvalidArgumentError, Option } from 'commander'
import { ShoalError } from '../../shared/errors.ts'
import { type Format, formatOutput, type Printable, terminalWidth } from '../../shared/print.ts'
import { login } from './login.ts'
import type { Environment, Options } from './options.ts'
import {
  type Profile,
  type Profiles,
  profilesFile,
  readProfiles,
  writeProfiles,
} from './profiles.ts'

/** `shoal login` and `shoal profile …`: none of them ever prints a key. */
export const addProfileCommands = (program: Command, env: Environment): void => {
  const file = profilesFile(env)
  const options = (): Options => program.opts<Options>()
  const print = (value: Printable): void => printIn(options().format, value)
  program
    .command('login')
    .description('keep an address and a key in a profile, and use it from now on')
    .addOption(
      new Option('--pin <fingerprint>', 'of its authority, as a join token ends with').argParser(
        pin,
      ),
    )
    .option('--no-check', 'keep it without asking the coordinator')
    .addHelpText('after', LOGIN_HELP)
    .action(async (own: { pin?: string; check: boolean }) =>
      print(await login({ ...options(), ...own }, env, file)),
    )

  const group = program.command('profile').description('the kept profiles: list, use, show, remove')
  group
    .command('list')
    .description('list them; * is the one in use')
    .action(() => print(listed(readProfiles(file))))
  group
    .command('use')
    .argument('<name>')
    .description('use it where no other is named')
    .action(name => change(file, name, kept => ({ ...kept, current: name })).then(print))
  group
    .command('show')
    .argument('[name]')
    .description('show one without its key, or the one in use')
    .action(name => {
      const kept = readProfiles(file)
      const wanted = name ?? options().profile ?? (env.SHOAL_PROFILE || kept.current)
      print(shown(wanted ?? '', profileOf(kept, wanted), kept))
    })
  group
    .command('remove')
    .argument('<name>')
    .description('forget it and its key')
    .action(name => change(file, name, kept => without(kept, name)).then(print))
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

const printIn = (format: Format, value: Printable): void =>
  void process.stdout.write(formatOutput(value, format, terminalWidth(process.stdout)))

const listed = ({ profiles, current }: Profiles): Printable => ({
  profiles: Object.entries(profiles).map(([name, { url, key, tenant }]) => ({
    in_use: name === current ? '*' : '',
    name,
    url,
    tenant: tenant ?? null,
    has_key: key !== undefined,
  })),
})

export const shown = (name: string, profile: Profile, { current }: Profiles) => ({
  name,
  url: profile.url,
  tenant: profile.tenant ?? null,
  has_key: profile.key !== undefined,
  own_authority: profile.ca !== undefined,
  in_use: name === current,
})

const profileOf = ({ profiles }: Profiles, name: string | undefined): Profile => {
  if (name === undefined)
    throw new ShoalError('not_found', 'no profile is in use; shoal login makes one')
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined
  if (found === undefined) throw new ShoalError('not_found', `there is no profile ${name}`)
  return found
}

const change = async (
  file: string,
  name: string,
  to: (kept: Profiles) => Profiles,
): Promise<Printable> => {
  const kept = readProfiles(file)
  const profile = profileOf(kept, name)
  const after = to(kept)
  await writeProfiles(file, after)
  return Object.hasOwn(after.profiles, name) ? shown(name, profile, after) : { removed: name }
}

const without = ({ current, profiles }: Profiles, name: string): Profiles => {
  const { [name]: _removed, ...rest } = profiles
  return { ...(current === undefined || current === name ? {} : { current }), profiles: rest }
}
