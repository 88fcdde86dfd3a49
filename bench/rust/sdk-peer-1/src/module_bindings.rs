//! What `spacetime generate --lang rust` writes for a module with the reducer `transfer`, less what the peer never
//! uses: tables, and the documentation. The four contexts differ in their event only, so a macro writes them.

#![allow(dead_code)]

use spacetimedb_sdk::__codegen::{self as __sdk, __lib, __ws};

#[derive(Clone, PartialEq, Debug)]
pub enum Reducer {
    Transfer,
}

impl __sdk::Reducer for Reducer {
    fn reducer_name(&self) -> &'static str {
        "transfer"
    }
}

impl TryFrom<__ws::ReducerCallInfo<__ws::BsatnFormat>> for Reducer {
    type Error = __sdk::Error;
    fn try_from(value: __ws::ReducerCallInfo<__ws::BsatnFormat>) -> __sdk::Result<Self> {
        match &value.reducer_name[..] {
            "transfer" => {
                __sdk::parse_reducer_args::<TransferArgs>("transfer", &value.args)?;
                Ok(Self::Transfer)
            }
            unknown => Err(__sdk::InternalError::unknown_name("reducer", unknown, "ReducerCallInfo").into()),
        }
    }
}

#[derive(__lib::ser::Serialize, __lib::de::Deserialize, Clone, PartialEq, Debug)]
#[sats(crate = __lib)]
struct TransferArgs {
    from: u32,
    to: u32,
    amount: u32,
}

#[derive(Default)]
pub struct DbUpdate;

impl TryFrom<__ws::DatabaseUpdate<__ws::BsatnFormat>> for DbUpdate {
    type Error = __sdk::Error;
    fn try_from(raw: __ws::DatabaseUpdate<__ws::BsatnFormat>) -> __sdk::Result<Self> {
        match raw.tables.first() {
            None => Ok(Self),
            Some(table) => {
                Err(__sdk::InternalError::unknown_name("table", &*table.table_name, "DatabaseUpdate").into())
            }
        }
    }
}

impl __sdk::DbUpdate for DbUpdate {
    fn apply_to_client_cache(&self, _cache: &mut __sdk::ClientCache<RemoteModule>) -> AppliedDiff<'_> {
        AppliedDiff(std::marker::PhantomData)
    }
}

pub struct AppliedDiff<'r>(std::marker::PhantomData<&'r ()>);

impl __sdk::InModule for AppliedDiff<'_> {
    type Module = RemoteModule;
}

impl<'r> __sdk::AppliedDiff<'r> for AppliedDiff<'r> {
    fn invoke_row_callbacks(&self, _event: &EventContext, _callbacks: &mut __sdk::DbCallbacks<RemoteModule>) {
    }
}

pub struct RemoteModule;

pub struct RemoteReducers {
    imp: __sdk::DbContextImpl<RemoteModule>,
}

impl RemoteReducers {
    pub fn transfer(&self, from: u32, to: u32, amount: u32) -> __sdk::Result<()> {
        self.imp.call_reducer("transfer", TransferArgs { from, to, amount })
    }

    pub fn on_transfer(&self, mut callback: impl FnMut(&ReducerEventContext) + Send + 'static) {
        self.imp.on_reducer("transfer", Box::new(move |context: &ReducerEventContext| callback(context)));
    }
}

pub struct SetReducerFlags;

pub struct RemoteTables;

#[derive(Clone)]
pub struct SubscriptionHandle {
    imp: __sdk::SubscriptionHandleImpl<RemoteModule>,
}

impl __sdk::SubscriptionHandle for SubscriptionHandle {
    fn new(imp: __sdk::SubscriptionHandleImpl<RemoteModule>) -> Self {
        Self { imp }
    }
    fn is_ended(&self) -> bool {
        self.imp.is_ended()
    }
    fn is_active(&self) -> bool {
        self.imp.is_active()
    }
    fn unsubscribe_then(self, on_end: __sdk::OnEndedCallback<RemoteModule>) -> __sdk::Result<()> {
        self.imp.unsubscribe_then(Some(on_end))
    }
    fn unsubscribe(self) -> __sdk::Result<()> {
        self.imp.unsubscribe_then(None)
    }
}

macro_rules! in_module {
    ($($name:ident)*) => {
        $(impl __sdk::InModule for $name {
            type Module = RemoteModule;
        })*
    };
}

in_module!(Reducer TransferArgs DbUpdate RemoteModule RemoteReducers SetReducerFlags RemoteTables SubscriptionHandle);

macro_rules! context {
    ($name:ident, $event:ty) => {
        pub struct $name {
            pub reducers: RemoteReducers,
            pub event: $event,
            imp: __sdk::DbContextImpl<RemoteModule>,
        }

        impl $name {
            fn over(imp: __sdk::DbContextImpl<RemoteModule>, event: $event) -> Self {
                Self { reducers: RemoteReducers { imp: imp.clone() }, event, imp }
            }
        }

        in_module!($name);

        impl __sdk::DbContext for $name {
            type DbView = RemoteTables;
            type Reducers = RemoteReducers;
            type SetReducerFlags = SetReducerFlags;
            type SubscriptionBuilder = __sdk::SubscriptionBuilder<RemoteModule>;

            fn db(&self) -> &Self::DbView {
                &RemoteTables
            }
            fn reducers(&self) -> &Self::Reducers {
                &self.reducers
            }
            fn set_reducer_flags(&self) -> &Self::SetReducerFlags {
                &SetReducerFlags
            }
            fn is_active(&self) -> bool {
                self.imp.is_active()
            }
            fn disconnect(&self) -> __sdk::Result<()> {
                self.imp.disconnect()
            }
            fn subscription_builder(&self) -> Self::SubscriptionBuilder {
                __sdk::SubscriptionBuilder::new(&self.imp)
            }
            fn try_identity(&self) -> Option<__sdk::Identity> {
                self.imp.try_identity()
            }
            fn connection_id(&self) -> __sdk::ConnectionId {
                self.imp.connection_id()
            }
        }
    };
}

macro_rules! event_context {
    ($name:ident, $event:ty) => {
        context!($name, $event);

        impl __sdk::AbstractEventContext for $name {
            type Event = $event;
            fn event(&self) -> &Self::Event {
                &self.event
            }
            fn new(imp: __sdk::DbContextImpl<RemoteModule>, event: Self::Event) -> Self {
                Self::over(imp, event)
            }
        }

        impl __sdk::$name for $name {}
    };
}

context!(DbConnection, ());
event_context!(EventContext, __sdk::Event<Reducer>);
event_context!(ReducerEventContext, __sdk::ReducerEvent<Reducer>);
event_context!(SubscriptionEventContext, ());
event_context!(ErrorContext, Option<__sdk::Error>);

impl DbConnection {
    pub fn builder() -> __sdk::DbConnectionBuilder<RemoteModule> {
        __sdk::DbConnectionBuilder::new()
    }

    pub fn run_threaded(&self) -> std::thread::JoinHandle<()> {
        self.imp.run_threaded()
    }
}

impl __sdk::DbConnection for DbConnection {
    fn new(imp: __sdk::DbContextImpl<RemoteModule>) -> Self {
        Self::over(imp, ())
    }
}

impl __sdk::SpacetimeModule for RemoteModule {
    type DbConnection = DbConnection;
    type EventContext = EventContext;
    type ReducerEventContext = ReducerEventContext;
    type SubscriptionEventContext = SubscriptionEventContext;
    type ErrorContext = ErrorContext;
    type Reducer = Reducer;
    type DbView = RemoteTables;
    type Reducers = RemoteReducers;
    type SetReducerFlags = SetReducerFlags;
    type DbUpdate = DbUpdate;
    type AppliedDiff<'r> = AppliedDiff<'r>;
    type SubscriptionHandle = SubscriptionHandle;

    fn register_tables(_client_cache: &mut __sdk::ClientCache<Self>) {}
}
