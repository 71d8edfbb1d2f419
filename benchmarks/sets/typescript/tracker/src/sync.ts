import type { Priority, State, Task, User } from './model'
import { TaskStore } from './store'

export interface RemoteTask {
  key: string
  summary: string
  status: State
  urgency: Priority | null
  owner: string | null
  dueDate?: string
}

export interface Remote {
  fetchPage(cursor: string | null): Promise<{ tasks: RemoteTask[]; cursor: string | null }>
  push(key: string, status: State): Promise<boolean>
}

export interface SyncResult {
  added: number
  moved: number
  failed: string[]
  finishedAt: Date
}

export type Lookup = (login: string) => Promise<User | undefined>

export class Synchronizer {
  private readonly known = new Map<string, Task>()

  constructor (
    private readonly store: TaskStore,
    private readonly remote: Remote,
    private readonly lookup: Lookup
  ) {}

  async fetchAll (): Promise<RemoteTask[]> {
    const all: RemoteTask[] = []
    let cursor: string | null = null
    do {
      const page: { tasks: RemoteTask[]; cursor: string | null } = await this.remote.fetchPage(cursor)
      all.push(...page.tasks)
      cursor = page.cursor
    } while (cursor !== null)
    return all
  }

  async pull (now: Date): Promise<SyncResult> {
    const result: SyncResult = { added: 0, moved: 0, failed: [], finishedAt: now }
    for (const remote of await this.fetchAll()) {
      const task = this.known.get(remote.key)
      if (task === undefined) {
        this.known.set(remote.key, await this.create(remote))
        result.added += 1
      } else if (this.store.move(task.id, remote.status)) {
        result.moved += 1
      }
    }
    return result
  }

  async push (now: Date): Promise<SyncResult> {
    const failed: string[] = []
    let moved = 0
    for (const [key, task] of this.known) {
      const accepted = await this.remote.push(key, task.state)
      if (accepted) {
        moved += 1
      } else {
        failed.push(key)
      }
    }
    return { added: 0, moved, failed, finishedAt: now }
  }

  private async create (remote: RemoteTask): Promise<Task> {
    const owner = remote.owner === null ? undefined : await this.lookup(remote.owner)
    const due = remote.dueDate === undefined ? undefined : new Date(remote.dueDate)
    const task = this.store.add({ title: remote.summary, priority: remote.urgency ?? 'normal', due })
    if (owner) {
      this.store.assign(task.id, owner)
    }
    this.store.move(task.id, remote.status)
    return task
  }
}

export async function retry<T> (work: () => Promise<T>, times: number): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (times <= 1) {
      throw error
    }
    return retry(work, times - 1)
  }
}

export function summarize (result: SyncResult): string {
  const failed = result.failed.length > 0 ? `, failed: ${result.failed.join(', ')}` : ''
  return `${result.added} added, ${result.moved} moved${failed}`
}
