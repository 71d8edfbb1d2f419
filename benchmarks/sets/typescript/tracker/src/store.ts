import { createTask, type Event, type State, type Task, type TaskDraft, type User } from './model'

export type Listener = (event: Event) => void

export class TaskStore {
  private tasks: Task[] = []
  private readonly listeners = new Set<Listener>()
  private nextId = 1

  constructor (private readonly now: () => Date) {}

  add (draft: TaskDraft): Task {
    const task = createTask(this.nextId, draft)
    this.nextId += 1
    this.tasks.push(task)
    this.publish({ kind: 'created', task, at: this.now() })
    return task
  }

  get (id: number): Task | undefined {
    return this.tasks.find(task => task.id === id)
  }

  move (id: number, to: State): boolean {
    const task = this.get(id)
    if (task === undefined || task.state === to) {
      return false
    }
    const from = task.state
    task.state = to
    this.publish({ kind: 'moved', taskId: id, from, to, at: this.now() })
    return true
  }

  assign (id: number, user: User): Task {
    const task = this.get(id)
    if (!task) {
      throw new RangeError(`no task ${id}`)
    }
    task.assignee = user
    this.publish({ kind: 'assigned', taskId: task.id, user, at: this.now() })
    return task
  }

  label (id: number, ...labels: string[]): number {
    const task = this.get(id)
    if (!task) {
      return 0
    }
    for (const label of labels) {
      task.labels.add(label.toLowerCase())
    }
    return task.labels.size
  }

  list (state?: State): Task[] {
    return state === undefined ? [...this.tasks] : this.tasks.filter(task => task.state === state)
  }

  subscribe (listener: Listener): () => void {
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
    }
  }

  private publish (event: Event): void {
    for (const listener of this.listeners) {
      listener(event)
    }
  }
}
